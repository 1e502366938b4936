"""JSD617: messages of an interest stream that match no consumer's filter: acknowledged, and never stored."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import was_replaced
from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import histories, readers, uncovered_subjects
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import StreamHistory, Trend

_MAX_OF = 0.75
_SHOWN_FILTERS = 5
_LEAST_DROPPED = 10
"""Fewer may be messages that arrived between the readings of the stream and of its consumers."""


@check("stream_limits.unheard_subjects", compares_samples=True)
def unheard_subjects(snapshots: SnapshotSeries, trend: Trend | None) -> Iterator[Finding]:
    """The server asks each consumer's filter before it stores a message (server: stream.go processJetStreamMsg)."""
    taken_by, seen = readers(snapshots.last), histories(trend)
    for stream in snapshots.last.led_streams():
        if stream.config.retention != "interest" or stream.is_mqtt or stream.config.mirror:
            continue
        if not stream.consumers or taken_by.get(stream.key_in_domain):
            continue  # JSD604 judges a stream without consumers; mirrors and sources take everything
        if not stream.consumers_seen or len(stream.consumers) < stream.state.consumer_count:
            yield unknown(stream.subject, "its consumers were not all listed", "run again, with a larger --timeout")
            continue
        unheard = uncovered_subjects(stream)
        history = seen.get((stream.account, stream.name))
        if history and not unheard and _was_replaced(history):
            yield unknown(stream.subject, "a consumer of it was recreated or reset between the samples", "run again")
            continue
        arrived, dropped = _dropped(history) if history and not unheard else (0, 0)
        if history and dropped and not _read_together(history):
            reason = "its consumers were read over a shorter time than the stream, in which fewer messages arrived"
            yield unknown(stream.subject, reason, "run with a longer --interval, e.g. 10s")
        elif history and dropped and _may_have_lost_pending(history):
            reason = "limits or a purge removed messages that may have waited, which looks as if no filter matched them"
            yield unknown(stream.subject, reason, "run again when its consumers keep up")
        elif unheard or dropped:
            yield _finding(stream, unheard, arrived, dropped)
        else:
            yield passed(stream.subject)


def _dropped(history: StreamHistory) -> tuple[int, int]:
    """Messages that arrived between the samples, and a lower bound of those that matched no filter.

    A message that matches a filter is delivered or pending, so it counts for at least one consumer, and redeliveries
    make the sum larger. Stream and consumers are read at slightly different instants, so the sum must leave out more
    than half of what arrived.
    """
    first, last = history.first, history.last
    before = {consumer.name: consumer for consumer in first.consumers}
    if set(before) != {consumer.name for consumer in last.consumers}:
        return 0, 0
    if not all(consumer.from_leader for consumer in (*first.consumers, *last.consumers)):
        return 0, 0
    arrived = last.state.last_seq - first.state.last_seq
    matched = sum(_position(consumer) - _position(before[consumer.name]) for consumer in last.consumers)
    dropped = arrived - max(matched, 0)
    return arrived, dropped if dropped > max(arrived // 2, _LEAST_DROPPED) else 0


def _was_replaced(history: StreamHistory) -> bool:
    """Whether a consumer of the same name is another one or was reset: its position says nothing of arrivals."""
    before = {consumer.name: consumer for consumer in history.first.consumers}
    return any(was_replaced(before[c.name], c) for c in history.last.consumers if c.name in before)


def _may_have_lost_pending(history: StreamHistory) -> bool:
    """Whether messages that waited for a consumer were removed: the stream begins behind its last delivery."""
    before = {consumer.name: consumer for consumer in history.first.consumers}
    first_seq = history.last.state.first_seq
    return any(
        before[c.name].num_pending and first_seq > before[c.name].delivered.stream_seq + 1
        for c in history.last.consumers
    )


def _read_together(history: StreamHistory) -> bool:
    """Whether consumers were read over as long a time as the stream, within a quarter: a list of consumers that comes
    late in the first sample leaves out what arrived before it.
    """
    before = {consumer.name: consumer.at for consumer in history.first.consumers}
    spans = [(consumer.at - before[consumer.name]).total_seconds() for consumer in history.last.consumers]
    return min(spans) >= _MAX_OF * history.elapsed_s


def _position(consumer: Consumer) -> int:
    return consumer.delivered.consumer_seq + consumer.num_pending


def _finding(stream: Stream, unheard: tuple[str, ...], arrived: int, dropped: int) -> Finding:
    if unheard:
        message = (
            f"no consumer's filter matches {', '.join(unheard)}: what is published there is acknowledged to the"
            " publisher and not stored"
        )
    else:
        message = (
            f"of {arrived:,} messages that were published between the samples at least {dropped:,} matched no"
            " consumer's filter: they were acknowledged to the publisher and not stored"
        )
    return failed(
        stream.subject,
        message,
        stream.observed("config.subjects", list(stream.config.subjects)),
        stream.observed("state.last_seq", stream.state.last_seq),
        *(c.observed("config.filters", list(c.config.filters)) for c in stream.consumers[:_SHOWN_FILTERS]),
        severity=Severity.ERROR if dropped else None,
        measured=(dropped or len(unheard), 0, "count"),
    )
