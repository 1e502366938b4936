"""JSD306: duplicates that begin when a server has started.

From stored messages: repeats that the window should have caught, and ids that a restart loses.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from jsdoctor.checks.dedupe_window.repeats import ScannedStream, examples, is_published_to, observed, scanned
from jsdoctor.checks.logs.log_incidents import index_of
from jsdoctor.checks.logs.words import listed, no_client_lines, no_server_lines, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Severity, Subject, failed, passed, shown, unknown
from jsdoctor.model.log import LogEvidence, ProcessRun, RestoredFall, exemplars_of
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import StoredMessages, moment
from jsdoctor.model.stored_ids import Repeat
from jsdoctor.model.wording import counted, span

_DUPLICATES = (
    "application-duplicate-postgresql",
    "application-duplicate-mongodb",
    "application-duplicate-mysql",
    "application-duplicate-sqlite",
)
_MIN_RISE = 3
_FALLS_SHOWN = 2


@check("dedupe_window.dedupe_state_lost_logged")
def dedupe_state_lost_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Compare duplicates that applications logged before and after the start of each server."""
    if not logs.has_server_logs or not logs.has_client_logs:
        yield no_client_lines() if logs.has_server_logs else no_server_lines()
        return
    reported = False
    for server in logs.servers:
        starts = [run for run in index_of(logs).runs_of(server.name) if run.started is not None and run.started.zoned]
        counts = [
            (count, run)
            for run, after in zip(starts, [*starts[1:], None], strict=False)
            if (count := _duplicates(logs, run, after, params)) is not None
        ]
        if counts:
            reported = True
            count, run = max(counts, key=lambda pair: pair[0].after)
            yield _finding(logs, run, count, params)
    if reported:
        return
    occurrences = logs.occurrences(*_DUPLICATES)
    zoned_starts = any(run.started and run.started.zoned for run in logs.runs)
    if occurrences and not (zoned_starts and any(occurrence.zoned for occurrence in occurrences)):
        why = "applications log duplicates and servers starts, but the time zones of both are not known"
        yield unknown(CLUSTER, why, "give the zones: --timezone 'PATTERN=ZONE'")
    else:
        yield passed(CLUSTER)


class _DuplicateCounts(NamedTuple):
    """Numbers of duplicates before and after a start."""

    before: int
    after: int


def _duplicates(
    logs: LogEvidence, run: ProcessRun, following: ProcessRun | None, params: Params
) -> _DuplicateCounts | None:
    """Duplicates before a start, and after it up to the next one; None if they are few or hardly more than before."""
    if run.started is None:
        return None
    start, within = run.started.us, params.integer("after") // 1000
    end = min(start + within, following.started.us) if following and following.started else start + within
    occurrences = [occurrence for occurrence in logs.occurrences(*_DUPLICATES) if occurrence.zoned]
    before = sum(occurrence.between(start - within, start) for occurrence in occurrences)
    after = sum(occurrence.between(start, end) for occurrence in occurrences)
    enough = after >= params.integer("duplicates") and after > _MIN_RISE * before
    return _DuplicateCounts(before, after) if enough else None


def _finding(logs: LogEvidence, run: ProcessRun, counts: _DuplicateCounts, params: Params) -> Finding:
    before, after = counts
    falls = [fall for fall in logs.restored_falls if fall.server == run.server and _restored_by(fall, run)]
    smaller = f"; {listed(fall.subject.label for fall in falls)} came back with fewer messages" if falls else ""
    return failed(
        falls[0].subject if len(falls) == 1 else Subject(kind="server", name=run.server),
        f"{counted(after, 'duplicate')} in applications' logs within {span(params.integer('after'))} after"
        f" {run.server} started at {run.started}, {before:,} before{smaller}: ids of messages that are not stored"
        " any more are forgotten by a restart, so retries are stored again; or consumers redelivered",
        *(fall.after_line.observed for fall in falls[:_FALLS_SHOWN]),
        *exemplars_of(logs.occurrences(*_DUPLICATES)),
        severity=None if falls else Severity.INFO,
        confidence=Confidence.LOW,
        measured=(after, params.integer("duplicates"), "count"),
        between=(zoned(run.started), zoned(run.started)),
    )


def _restored_by(fall: RestoredFall, run: ProcessRun) -> bool:
    """Whether the stream was restored with fewer messages at the start of this process."""
    at, until = fall.after_line.at, run.last
    return at is not None and run.started is not None and run.started <= at and (until is None or at <= until)


_REMOVES_AT_ONCE = 1
"""The max_msgs_per_subject with which a new message removes the one before, whose id a restart then loses."""


@check("dedupe_window.dedupe_state_lost_stored")
def dedupe_state_lost_stored(
    stored: StoredMessages, snapshots: SnapshotSeries, servers: Servers | None
) -> Iterator[Finding]:
    """Find repeats within the window; a start rebuilds ids from stored messages (server: stream.go rebuildDedupe)."""
    starts = Starts(servers)
    origins = {(s.account, s.name): s for s in snapshots.last.led_streams()}
    for stream in scanned(stored, snapshots):
        window_ns = stream.shortest_window_ns or 0
        close = [r for r in stream.stored.repeats.kept if 0 < r.distance_ns < window_ns]
        removed = _removed_early(stream.stream) if stream.stored.with_id and is_published_to(stream.stream) else ""
        if close:
            between = [_between(stream, origins, starts, repeat) for repeat in close]
            known = next(filter(None, between), "")
            distances = stream.stored.repeats.distances
            count = distances.below(window_ns) - distances.below(1)
            why = known or "the window was shorter then, a clock was set forward (JSD104), or the ids were lost"
            yield failed(
                stream.stored.subject,
                f"{counted(count, 'message')} came again within the window of {span(window_ns)} and are stored twice: "
                f"{examples(close)}; in between {why}",
                stream.stream.observed("config.duplicate_window", stream.stream.config.duplicate_window_ns),
                stream.stream.observed("created", stream.stream.created),
                *observed(stream.stored, close),
                severity=None if known else Severity.INFO,
                confidence=Confidence.MEDIUM if known else Confidence.LOW,
                measured=(count, 0, "count"),
                between=(moment(close[0].at_ns), moment(close[-1].at_ns)),
            )
        elif removed:
            yield _possible_finding(stream, removed, *starts.of(stream.stream))
        else:
            yield passed(stream.stored.subject)


class Starts:
    """When the servers that lead streams were started, as far as they were seen."""

    def __init__(self, servers: Servers | None) -> None:
        self._starts = {s.name: s.varz.start for s in servers.servers if s.varz and s.varz.start} if servers else {}

    def of(self, stream: Stream) -> tuple[str, datetime | None]:
        """The leader and its start. A server outside of any cluster does not name itself in replies to accounts."""
        name = stream.answered_by
        if not name and not stream.cluster and len(self._starts) == 1:
            name = next(iter(self._starts))
        return name, self._starts.get(name)


def _between(
    scanned_stream: ScannedStream, origins: dict[tuple[str, str], Stream], starts: Starts, repeat: Repeat
) -> str:
    """A known event between two messages that loses ids, in words; empty: none is known."""
    first, again = moment(repeat.before_ns), moment(repeat.at_ns)
    config, account = scanned_stream.stream.config, scanned_stream.stream.account
    passed_by = [origins.get((account, c.name)) for c in config.origins] or [scanned_stream.stream]
    for stream in filter(None, passed_by):
        if stream.created and first < stream.created <= again:
            return f"{stream.name} was restored at {stream.created:%Y-%m-%d %H:%M:%S}Z"
        server, start = starts.of(stream)
        if start and first < start <= again:
            kept = f", and {stream.name} removes {_removed_early(stream)}" if _removed_early(stream) else ""
            return f"{server} started at {start:%Y-%m-%d %H:%M:%S}Z{kept}"
    for origin in filter(None, passed_by):
        if origin is not scanned_stream.stream and _removed_early(origin):
            return f"{origin.name}, where it was published, removes {_removed_early(origins[account, origin.name])}"
    return ""


def _removed_early(stream: Stream) -> str:
    """The messages, in words, that are removed so soon that a restart loses their ids; empty: none."""
    config = stream.config
    if config.retention in ("workqueue", "interest"):
        return "what is acknowledged"
    if config.storage == "memory" and config.num_replicas == 1:
        return "everything when its server stops"
    return "all but the newest message of a subject" if config.max_msgs_per_subject == _REMOVES_AT_ONCE else ""


def _possible_finding(stream: ScannedStream, removed: str, server: str, start: datetime | None) -> Finding:
    since_ns = int((stream.stream.at - start).total_seconds() * 1e9) if start else None
    window_ns = stream.stream.config.duplicate_window_ns
    fresh = since_ns is not None and 0 <= since_ns < window_ns
    now = f"; {server} started {span(since_ns or 0)} ago and has forgotten them just now" if fresh else ""
    return failed(
        stream.stored.subject,
        f"publishers send ids, and the stream removes {removed}: a restart forgets the ids of what is removed, so "
        f"a retry across it is stored again{now}",
        *shown(stream.stream, "config.retention", "config.storage"),
        stream.stored.observed("messages with an id", stream.stored.with_id),
        severity=None if fresh else Severity.INFO,
        confidence=Confidence.MEDIUM,
        measured=(since_ns if fresh else None, window_ns, "duration"),
    )
