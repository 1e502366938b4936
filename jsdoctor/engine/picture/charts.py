"""Values that need no time axis: storage against limits, acknowledgement times, and clocks with their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.clock import Clocks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.picture import AckLatency, ClockOffset, Usage
from jsdoctor.model.server import UNLIMITED, Servers
from jsdoctor.model.snapshot import SnapshotSeries

_MAX_ROWS = 12


def usages(evidence: EvidenceSet) -> tuple[Usage, ...]:
    """Storage of servers and streams with a limit, the fullest first; those that discard old messages come last."""
    every = (*_server_usages(evidence), *_stream_usages(evidence))
    fullest_first = sorted(every, key=lambda item: (item.rolls, -item.used / item.limit, item.name))
    return tuple(fullest_first[:_MAX_ROWS])


def clock_offsets(evidence: EvidenceSet) -> tuple[ClockOffset, ...]:
    """Every clock that was compared, live or by the logs."""
    offset_ranges: list[ClockOffset] = []
    clocks, logs = evidence.get(Clocks), evidence.get(LogEvidence)
    if clocks is not None:
        offset_ranges += [
            ClockOffset(server.name, "this machine", server.offset.low_ns, server.offset.high_ns)
            for server in clocks.servers
        ]
    if logs is not None:
        for pair in logs.offsets:
            low, high = pair.skew_us - pair.uncertainty_us, pair.skew_us + pair.uncertainty_us
            if pair.server < pair.other:
                offset_ranges.append(ClockOffset(pair.other, pair.server, low * 1000, high * 1000))
    return tuple(offset_ranges[: 2 * _MAX_ROWS])


def ack_latencies(evidence: EvidenceSet) -> tuple[AckLatency, ...]:
    """Acknowledgement times of the consumers whose servers measure them, the slowest first."""
    times = evidence.get(AckTimes)
    if times is None:
        return ()
    measured = [consumer for consumer in times.consumers if consumer.ack_times_ns]
    measured.sort(key=lambda acks: (-acks.quantile_ns(0.99), acks.subject.label))
    return tuple(
        AckLatency(
            acks.subject.label,
            len(acks.ack_times_ns),
            acks.quantile_ns(0.5),
            acks.quantile_ns(0.99),
            acks.ack_times_ns[-1],
        )
        for acks in measured[:_MAX_ROWS]
    )


def _server_usages(evidence: EvidenceSet) -> Iterator[Usage]:
    servers = evidence.get(Servers)
    for server in servers.servers if servers is not None else ():
        stats = server.jetstream
        if stats is None or stats.config is None:
            continue
        for what, used, limit in (
            ("file storage", stats.storage, stats.config.max_storage),
            ("memory storage", stats.memory, stats.config.max_memory),
        ):
            if 0 < limit < UNLIMITED and used:
                yield Usage(server.name, what, used, limit)


def _stream_usages(evidence: EvidenceSet) -> Iterator[Usage]:
    snapshots = evidence.get(SnapshotSeries)
    for stream in snapshots.last.led_streams() if snapshots is not None else ():
        label, config, state = stream.subject.label, stream.config, stream.state
        rolls = config.discard == "old" and config.retention == "limits"  # others refuse, or drop unread messages
        if config.max_bytes > 0:
            yield Usage(label, "bytes", state.bytes, config.max_bytes, rolls=rolls)
        if config.max_msgs > 0:
            yield Usage(label, "messages", state.messages, config.max_msgs, "count", rolls)
