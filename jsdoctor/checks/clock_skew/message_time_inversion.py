"""JSD105: stored messages with an earlier date than the message before them: where, how far, near which election."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import MAX_INVERSIONS, Inversion, StoredMessages, StoredStream, moment
from jsdoctor.model.wording import compared, counted, span

_NEAR_S = 60.0
"""Seconds after an election within which an earlier date is attributed to the clock of the new leader."""


@check("clock_skew.message_time_inversion")
def message_time_inversion(
    stored: StoredMessages, snapshots: SnapshotSeries | None, params: Params
) -> Iterator[Finding]:
    """Compare the date of each message with that of the message before it: only clocks make it go back.

    The leader dates what it stores (server: jetstream_batching.go commitSingleMsg; filestore.go StoreMsg).
    """
    led = {(s.account, s.name): s for s in snapshots.last.led_streams()} if snapshots else {}
    tolerance_ns = params.integer("tolerance")
    for scanned in stored.streams:
        kept = [inversion for inversion in scanned.inversions.kept if inversion.size_ns > tolerance_ns]
        if kept:
            yield _finding(scanned, led.get((scanned.account, scanned.stream)), kept, params)
        else:
            yield passed(scanned.subject)


class _StreamWindow(NamedTuple):
    """A time limit of a stream, and its name in the configuration."""

    setting: str
    length_ns: int


def _finding(scanned: StoredStream, stream: Stream | None, kept: Sequence[Inversion], params: Params) -> Finding:
    largest = max(kept, key=lambda inversion: inversion.size_ns)
    window, times = _shortest_window(stream), [inversion.at_ns for inversion in kept]
    text = (
        f"{_places_text(kept)} dates go back, by up to {span(largest.size_ns)}{_window_text(window, largest.size_ns)}: "
    )
    text += (
        f"message {largest.stream_seq:,} is dated before message {largest.before_seq:,}{_leader_text(stream, kept)}; "
    )
    return failed(
        scanned.subject,
        text + _cause(stream) + _future_text(scanned),
        scanned.observed(f"message {largest.before_seq} time", moment(largest.before_ns)),
        scanned.observed(f"message {largest.stream_seq} time", moment(largest.at_ns)),
        scanned.observed("inversions", len(kept)),
        severity=_severity(largest.size_ns, window, params),
        measured=(largest.size_ns, params.integer("tolerance"), "duration"),
        between=(moment(min(times)), moment(max(times))),
        remedy={"sequences": (largest.before_seq, largest.stream_seq)},
    )


def _severity(size_ns: int, window: _StreamWindow | None, params: Params) -> Severity:
    if window and size_ns >= window.length_ns:
        return Severity.ERROR
    if size_ns >= params.integer("warning") or (window and size_ns >= params.number("share") * window.length_ns):
        return Severity.WARNING
    return Severity.INFO


def _shortest_window(stream: Stream | None) -> _StreamWindow | None:
    if stream is None:
        return None
    config = stream.config
    windows = (
        _StreamWindow("duplicate_window", config.duplicate_window_ns),
        _StreamWindow("max_age", config.max_age_ns),
    )
    return min((w for w in windows if w.length_ns > 0), key=lambda window: window.length_ns, default=None)


def _places_text(kept: Sequence[Inversion]) -> str:
    return f"in {'at least ' * (len(kept) == MAX_INVERSIONS)}{counted(len(kept), 'place')}"


def _window_text(window: _StreamWindow | None, size_ns: int) -> str:
    if window is None or size_ns < window.length_ns:
        return ""
    return f", {compared(size_ns, window.length_ns)} its {window.setting} of {span(window.length_ns)}"


def _leader_text(stream: Stream | None, kept: Sequence[Inversion]) -> str:
    """Half a sentence if the last election, by the clock of the new leader, was shortly before an inversion."""
    if stream is None or stream.cluster is None or stream.cluster.leader_since is None:
        return ""
    since, leader = stream.cluster.leader_since, stream.cluster.leader
    after = [i for i in kept if 0 <= (moment(i.at_ns) - since).total_seconds() <= _NEAR_S]
    return f", {leader} had become leader just before message {after[0].stream_seq:,}" if after else ""


def _cause(stream: Stream | None) -> str:
    if stream is not None and stream.config.mirror is not None:
        return "a mirror has the dates of its origin, look at the clocks there"
    if stream is not None and not (stream.cluster and stream.cluster.replicas):
        return "the clock of its server was set back, or it was on another server before"
    return "a clock was set back, or the lead went to a server whose clock is behind"


def _future_text(scanned: StoredStream) -> str:
    future = scanned.future
    if not future.count:
        return ""
    verb = "is" if future.count == 1 else "are"
    text = f"; {counted(future.count, 'message')} up to {future.last_seq:,} {verb} dated in the future"
    return f"{text}, by up to {span(future.farthest_ns)}"
