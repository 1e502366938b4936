"""JSD204: a stream that reports lost messages itself, or whose numbers cannot all be true.

From two samples: a stream whose last sequence fell, or that lost messages which nothing may remove.
Over hours: a stream whose last sequence is lower than in an earlier bundle.
From logs: streams that came back with fewer messages than at the start before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed, shown, suspected, unknown
from jsdoctor.model.jetstream import LostMessages, StreamConfig, StreamState
from jsdoctor.model.log import LogEvidence, RestoredFall
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import History, StreamHistory, Trend
from jsdoctor.model.wording import counted


@check("sequence_mismatch.stream_damaged")
def stream_damaged(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Judge `lost`, which only replies with lists of deleted messages have (filestore.go State), and the counts."""
    for stream in snapshots.last.led_streams():
        state = stream.state
        if state.lost is not None and (state.lost.msgs or state.lost.bytes):
            yield _lost_finding(stream, state.lost)
        elif not _adds_up(state):
            yield failed(
                stream.subject,
                f"its numbers contradict each other: {counted(state.messages, 'message')} and {state.num_deleted:,} "
                f"deleted between sequences {state.first_seq:,} and {state.last_seq:,}: it "
                "loaded damaged storage, or miscounted",
                *shown(stream, "state.messages", "state.num_deleted", "state.first_seq", "state.last_seq"),
            )
        else:
            yield passed(stream.subject)


def _adds_up(state: StreamState) -> bool:
    """Whether messages, deleted ones and sequences agree: servers compute `num_deleted` from the rest."""
    if state.messages == 0:
        return state.last_seq == 0 or state.first_seq == state.last_seq + 1
    return state.messages + state.num_deleted == state.last_seq - state.first_seq + 1


def _lost_finding(stream: Stream, lost: LostMessages) -> Finding:
    numbers, size = lost.msgs or (), lost.bytes
    which = f"{counted(len(numbers), 'message')} from sequence {min(numbers):,} on" if numbers else f"{size:,} bytes"
    return failed(
        stream.subject,
        f"the server found the storage of {which} damaged and dropped what could not be read",
        stream.observed("state.lost.bytes", size),
        *((stream.observed("state.lost.msgs", f"{min(numbers)}..{max(numbers)}"),) if numbers else ()),
        measured=(len(numbers) or size, 0, "count" if numbers else "bytes"),
    )


@check("sequence_mismatch.stream_went_back", compares_samples=True)
def stream_went_back(trend: Trend, params: Params) -> Iterator[Finding]:
    """Find streams whose `last_seq` fell; purges and deletes keep it (server: filestore.go PurgeEx, removeMsg).

    Only readings of the same incarnation are compared. A stream in memory is empty after a restart, by design.
    """
    return went_back(trend.streams(), params)


def went_back(histories: Iterable[StreamHistory], params: Params) -> Iterator[Finding]:
    """Findings of `stream_went_back` for readings of any interval."""
    settle_ns = params.integer("settle")
    for history in histories:
        last = history.last
        furthest = max(history.readings, key=lambda reading: reading.state.last_seq)
        if last.config.storage == "memory":
            continue
        if furthest.state.last_seq > last.state.last_seq:
            if is_new_leader(last, furthest, settle_ns):
                reason = f"its new leader {last.answered_by} may not have applied everything yet"
                yield suspected(last.subject, reason, "run again with a longer --interval")
            elif furthest.created is None or last.created is None:
                # A stream that was deleted and recreated ends lower as well.
                yield unknown(last.subject, "nothing shows whether it is the stream of before", "look with a login")
            else:
                yield _went_back_finding(furthest, last)
        elif (missing := _missing_in_middle(history)) > 0:
            yield _missing_finding(history, missing)
        else:
            yield passed(last.subject)


def is_new_leader(last: Stream | Consumer, before: Stream | Consumer, settle_ns: int) -> bool:
    """Whether another server leads now and has not for long; servers before 2.11 do not report since when.

    A plain login does not see the name of a single server.
    """
    if last.answered_by == before.answered_by or not (last.answered_by and before.answered_by):
        return False
    since = last.cluster.leader_since if last.cluster else None
    return int((last.at - (since or before.at)).total_seconds() * 1e9) < settle_ns


def _missing_in_middle(history: StreamHistory) -> int:
    """How many messages vanished from the middle of a stream that allows no removal there; 0 for other streams."""
    config = history.last.config
    fixed = config.deny_delete and config.deny_purge and config.retention == "limits" and not config.mirror
    removes = config.allow_msg_ttl or config.allow_rollup_hdrs or config.allow_msg_schedules
    if not fixed or removes or config.max_msgs_per_subject > 0:
        return 0
    first, last = history.first.state, history.last.state
    return max(0, last.num_deleted - first.num_deleted) if last.first_seq == first.first_seq else 0


def _went_back_finding(before: Stream, last: Stream) -> Finding:
    gone = before.state.last_seq - last.state.last_seq
    return failed(
        last.subject,
        f"the stream ended at sequence {before.state.last_seq:,} and now ends at {last.state.last_seq:,}: "
        f"{counted(gone, 'message')} or more are gone, and their sequences are used again",
        *compared(before, last, "state.last_seq"),
        *shown(last, "state.messages"),
        measured=(gone, 0, "count"),
        between=(before.at, last.at),
    )


def _missing_finding(history: StreamHistory, missing: int) -> Finding:
    first, last = history.first, history.last
    same = first.answered_by == last.answered_by
    return failed(
        last.subject,
        f"{counted(missing, 'message')} vanished from the middle of a stream that allows no deletes and no purges: "
        + ("their storage is damaged" if same else f"the copy of {last.answered_by}, which leads now, lacks them"),
        *compared(first, last, "state.num_deleted"),
        measured=(missing, 0, "count"),
    )


@check("sequence_mismatch.stream_went_back_history")
def stream_went_back_history(history: History, params: Params) -> Iterator[Finding]:
    """Findings of `stream_went_back` with earlier bundles as samples."""
    return went_back(history.streams(), params)


_POSSIBLE_CAUSES = "limits, purges and acknowledgements explain that, or messages were lost: the log cannot tell"


@check("sequence_mismatch.restored_less_logged")
def restored_less_logged(logs: LogEvidence, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Judge falls of `Restored N messages` from one start to the next (server: jetstream.go EnableJetStream)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    streams = {stream.subject: stream.config for stream in (snapshots.last.streams if snapshots else ())}
    for fall in logs.restored_falls:
        config = streams.get(fall.subject)
        if config is not None and _keeps_all(config):
            fixed = config.deny_delete and config.deny_purge
            why = "they are lost" if fixed else "they were purged or deleted, or are lost"
            yield _finding(fall, None, f"it has no limit that explains that: {why}", Confidence.MEDIUM)
        elif _damaged(logs, fall):
            why = "its server found damaged messages of that stream when it started: what it could not read is lost"
            yield _finding(fall, None, why, Confidence.MEDIUM)
        elif _ended_uncleanly(logs, fall):
            yield _finding(
                fall, Severity.WARNING, f"the server had not stopped in order; {_POSSIBLE_CAUSES}", Confidence.LOW
            )
        else:
            yield passed(fall.subject)


def _finding(fall: RestoredFall, severity: Severity | None, why: str, sure: Confidence) -> Finding:
    return failed(
        fall.subject,
        f"{fall.server} restored {counted(fall.after, 'message')} where it had {fall.before:,} at the start before"
        f" ({fall.before - fall.after:,} fewer): {why}",
        fall.before_line.observed,
        fall.after_line.observed,
        severity=severity,
        confidence=sure,
        measured=(fall.before - fall.after, 0, "count"),
    )


def _keeps_all(config: StreamConfig) -> bool:
    """Whether only a purge or a delete removes messages."""
    bounded = (config.max_msgs, config.max_bytes, config.max_age_ns, config.max_msgs_per_subject)
    return config.retention == "limits" and all(limit <= 0 for limit in bounded) and not config.allow_msg_ttl


def _ended_uncleanly(logs: LogEvidence, fall: RestoredFall) -> bool:
    """Whether a process between the two starts was killed or crashed."""
    begin, end = fall.before_line.at, fall.after_line.at
    return any(
        run.end in ("unclean", "failed")
        for run in logs.runs_of(fall.server)
        if run.last and begin and end and begin.us <= run.last.us <= end.us
    )


def _damaged(logs: LogEvidence, fall: RestoredFall) -> bool:
    """Whether that server logged at that start that a block of a stream of that name is missing or damaged."""
    return any(
        occurrence.logged_by == fall.server and occurrence.value("store") == fall.stream
        for occurrence in logs.occurrences("store-block-missing", "store-record-corrupt")
    )
