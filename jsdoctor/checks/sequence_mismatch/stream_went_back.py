"""JSD204, two looks: a stream whose last sequence fell, or that lost messages which nothing may remove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import counted


@check("sequence_mismatch.stream_went_back")
def stream_went_back(trend: Trend, params: Params) -> Iterator[Finding]:
    """No API call lowers `last_seq`: purges and deletes leave it (server: filestore.go PurgeEx, removeMsg).

    Only readings of the same incarnation are compared. A stream in memory starts anew with its servers, as it must.
    """
    return went_back(trend.streams(), params)


def went_back(histories: Iterable[StreamHistory], params: Params) -> Iterator[Finding]:
    """The same for readings of any distance."""
    settle_ns = params.integer("settle")
    for history in histories:
        last = history.last
        furthest = max(history.readings, key=lambda reading: reading.state.last_seq)
        if last.config.storage == "memory":
            continue
        if furthest.state.last_seq > last.state.last_seq:
            if _is_new(last, furthest, settle_ns):
                reason = f"its new leader {last.answered_by} may not have applied everything yet"
                yield unknown(last.subject, reason, "run again with a longer --interval")
            elif (
                furthest.created is None or last.created is None
            ):  # a stream that was deleted and made anew ends lower as well
                yield unknown(last.subject, "nothing shows whether it is the stream of before", "look with a login")
            else:
                yield _went_back(furthest, last)
        elif (missing := _removed(history)) > 0:
            yield _holes(history, missing)
        else:
            yield passed(last.subject)


def _is_new(last: Stream, furthest: Stream, settle_ns: int) -> bool:
    """Whether another server leads now and has not for long; servers before 2.11 do not tell since when."""
    if last.answered_by == furthest.answered_by:
        return False
    since = last.cluster.leader_since if last.cluster else None
    return int((last.at - (since or furthest.at)).total_seconds() * 1e9) < settle_ns


def _removed(history: StreamHistory) -> int:
    """How many more messages are missing in the middle, on a stream from whose middle nothing may be removed."""
    config = history.last.config
    fixed = config.deny_delete and config.deny_purge and config.retention == "limits" and not config.mirror
    if not fixed or config.max_msgs_per_subject > 0 or config.allow_msg_ttl or config.allow_rollup_hdrs:
        return 0
    first, last = history.first.state, history.last.state
    return max(0, last.num_deleted - first.num_deleted) if last.first_seq == first.first_seq else 0


def _went_back(before: Stream, last: Stream) -> Finding:
    gone = before.state.last_seq - last.state.last_seq
    return Finding(
        subject=last.subject,
        message=(
            f"the stream ended at sequence {before.state.last_seq:,} and now ends at {last.state.last_seq:,}: "
            f"{counted(gone, 'message')} or more are gone, and their sequences are used again"
        ),
        measured=gone,
        threshold=0,
        unit="count",
        first_seen=before.at,
        last_seen=last.at,
        evidence=(
            before.observed("state.last_seq", before.state.last_seq),
            last.observed("state.last_seq", last.state.last_seq),
            last.observed("state.messages", last.state.messages),
        ),
    )


def _holes(history: StreamHistory, missing: int) -> Finding:
    first, last = history.first, history.last
    return Finding(
        subject=last.subject,
        message=(
            f"{counted(missing, 'message')} vanished from the middle of a stream that allows no deletes and no purges: "
            "their storage is damaged"
        ),
        measured=missing,
        threshold=0,
        unit="count",
        evidence=(
            first.observed("state.num_deleted", first.state.num_deleted),
            last.observed("state.num_deleted", last.state.num_deleted),
        ),
    )
