"""JSD210: a consumer whose acknowledged position is lower than it was: it delivers again what was acknowledged.

Over hours: the same against earlier bundles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.stream_damaged import is_new_leader
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed, shown, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, History, Trend
from jsdoctor.model.wording import counted

_RESET_SINCE = (2, 14)
_ACKNOWLEDGED = ("explicit", "all")


@check("sequence_mismatch.consumer_went_back", compares_samples=True)
def consumer_went_back(
    trend: Trend, servers: Servers | None, connected: ConnectedServer | None, params: Params
) -> Iterator[Finding]:
    """Find ack floors that fell: a reset of the consumer lowers them, acknowledgements do not (resetStartingSeq)."""
    return _went_back(trend.consumers(), servers, connected, params)


@check("sequence_mismatch.consumer_went_back_history")
def consumer_went_back_history(
    history: History, servers: Servers | None, connected: ConnectedServer | None, params: Params
) -> Iterator[Finding]:
    """Findings of `consumer_went_back` with earlier bundles as samples."""
    return _went_back(history.consumers(), servers, connected, params)


def _went_back(
    histories: Iterable[ConsumerHistory], servers: Servers | None, connected: ConnectedServer | None, params: Params
) -> Iterator[Finding]:
    """Judge consumers of limits streams, which keep acknowledged messages. JSD204 judges streams that lost an end."""
    for history in histories:
        last, stream = history.last, history.stream
        if last.config.ack_policy not in _ACKNOWLEDGED or stream.config.retention != "limits":
            continue
        if any(before.state.last_seq > stream.state.last_seq for before in history.streams):
            continue
        furthest = max(history.readings, key=lambda reading: reading.ack_floor.stream_seq)
        again = _delivered_again(furthest, last, stream)
        if again <= 0:
            yield passed(last.subject)
        elif is_new_leader(last, furthest, params.integer("settle")):
            reason = f"its new leader {last.answered_by} may not have applied everything yet"
            yield suspected(last.subject, reason, "run again with a longer --interval")
        else:
            yield _finding(history, furthest, again, servers, connected)


def _delivered_again(before: Consumer, last: Consumer, stream: Stream) -> int:
    """Upper bound of the acknowledged messages that the stream still holds and the consumer delivers again."""
    return before.ack_floor.stream_seq - max(last.ack_floor.stream_seq, stream.state.first_seq - 1)


def _finding(
    history: ConsumerHistory, before: Consumer, again: int, servers: Servers | None, connected: ConnectedServer | None
) -> Finding:
    last = history.last
    version = release(version_at(last.answered_by, servers, connected))
    resets = not version or version >= _RESET_SINCE
    started = _started_since(last, before, servers)
    if started and last.config.mem_storage:
        why = f"its state was in the memory of {last.answered_by}, which was started since"
    elif started:
        why = f"{last.answered_by} was started since with an older state of it"
    else:
        why = "its state was lost or replaced by an older one"
    if resets:
        why = f"{why}, or a client reset it" if started else f"a client reset it, or {why}"
    return failed(
        last.subject,
        f"all up to message {before.ack_floor.stream_seq:,} was acknowledged, and now all up to"
        f" {last.ack_floor.stream_seq:,}: up to {counted(again, 'message')} come again; {why}",
        *compared(before, last, "ack_floor.stream_seq", "delivered.consumer_seq"),
        *shown(last, "config.mem_storage"),
        severity=Severity.INFO if resets and not started else None,
        confidence=Confidence.MEDIUM if resets else Confidence.HIGH,
        measured=(again, 0, "count"),
        between=(before.at, last.at),
    )


def _started_since(last: Consumer, before: Consumer, servers: Servers | None) -> bool:
    """Whether the consumer's leader was started after the earlier reading; False where servers were not read."""
    leader = next((server for server in (servers.servers if servers else ()) if server.name == last.answered_by), None)
    start = leader.varz.start if leader and leader.varz else None
    return start is not None and start > before.at
