"""JSD105: dates of stored messages that go back while sequences go on: where, how far, near which leader change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import MAX_INVERSIONS, Inversion, StoredMessages, StoredStream, moment
from jsdoctor.model.wording import compared, counted, span

_NEAR_S = 60.0
"""Seconds after a change of leader within which a message that goes back in time is attributed to the new leader."""


@check("clock_skew.message_time_inversion")
def message_time_inversion(
    stored: StoredMessages, snapshots: SnapshotSeries | None, params: Params
) -> Iterator[Finding]:
    """Compare each message with the one stored before it, by sequence: a time that goes back is due to clocks alone.

    The leader dates what it stores (server: jetstream_batching.go commitSingleMsg; filestore.go StoreMsg).
    """
    led = {(s.account, s.name): s for s in snapshots.last.led_streams()} if snapshots else {}
    tolerance_ns = params.integer("tolerance")
    for scanned in stored.streams:
        over = [inversion for inversion in scanned.inversions.kept if inversion.size_ns > tolerance_ns]
        if over:
            yield _finding(scanned, led.get((scanned.account, scanned.stream)), over, params)
        else:
            yield passed(scanned.subject)


def _finding(scanned: StoredStream, stream: Stream | None, over: Sequence[Inversion], params: Params) -> Finding:
    largest = max(over, key=lambda inversion: inversion.size_ns)
    window, times = _shortest_window(stream), [inversion.at_ns for inversion in over]
    words = f"{_where(over)} dates go back, by up to {span(largest.size_ns)}{_against(window, largest.size_ns)}: "
    words += f"message {largest.stream_seq:,} is dated before message {largest.before_seq:,}{_leader(stream, over)}; "
    return failed(
        scanned.subject,
        words + _cause(stream) + _future(scanned),
        scanned.observed(f"message {largest.before_seq} time", moment(largest.before_ns)),
        scanned.observed(f"message {largest.stream_seq} time", moment(largest.at_ns)),
        scanned.observed("inversions", len(over)),
        severity=_severity(largest.size_ns, window, params),
        measured=(largest.size_ns, params.integer("tolerance"), "duration"),
        between=(moment(min(times)), moment(max(times))),
        remedy={"sequences": (largest.before_seq, largest.stream_seq)},
    )


def _severity(size_ns: int, window: tuple[str, int] | None, params: Params) -> Severity:
    if window and size_ns >= window[1]:
        return Severity.ERROR
    if size_ns >= params.integer("warning") or (window and size_ns >= params.number("share") * window[1]):
        return Severity.WARNING
    return Severity.INFO


def _shortest_window(stream: Stream | None) -> tuple[str, int] | None:
    if stream is None:
        return None
    lengths = {"duplicate_window": stream.config.duplicate_window_ns, "max_age": stream.config.max_age_ns}
    return min(((name, ns) for name, ns in lengths.items() if ns > 0), key=lambda window: window[1], default=None)


def _where(over: Sequence[Inversion]) -> str:
    return f"in {'at least ' * (len(over) == MAX_INVERSIONS)}{counted(len(over), 'place')}"


def _against(window: tuple[str, int] | None, size_ns: int) -> str:
    if window is None or size_ns < window[1]:
        return ""
    return f", {compared(size_ns, window[1])} its {window[0]} of {span(window[1])}"


def _leader(stream: Stream | None, over: Sequence[Inversion]) -> str:
    """The last change of leader is known, by the clock of the new one: the same that dated what came after it."""
    if stream is None or stream.cluster is None or stream.cluster.leader_since is None:
        return ""
    since, leader = stream.cluster.leader_since, stream.cluster.leader
    after = [i for i in over if 0 <= (moment(i.at_ns) - since).total_seconds() <= _NEAR_S]
    return f", {leader} had become leader just before message {after[0].stream_seq:,}" if after else ""


def _cause(stream: Stream | None) -> str:
    if stream is not None and stream.config.mirror is not None:
        return "a mirror has the dates of its origin, look at the clocks there"
    if stream is not None and not (stream.cluster and stream.cluster.replicas):
        return "the clock of its server was set back, or it was on another server before"
    return "a clock was set back, or the lead went to a server whose clock is behind"


def _future(scanned: StoredStream) -> str:
    future = scanned.future
    if not future.count:
        return ""
    verb = "is" if future.count == 1 else "are"
    words = f"; {counted(future.count, 'message')} up to {future.last_seq:,} {verb} dated in the future"
    return f"{words}, by up to {span(future.farthest_ns)}"
