"""JSD419: one old unacknowledged message keeps the ack floor back while everything else flows."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import histories, is_full, key, patience_ns, redeliveries
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, shown, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import ConsumerHistory, Trend

_MAX_SHARE = 0.1
"""Up to this share of the deliveries past the floor, unacknowledged messages are exceptions, not the load in flight."""


@check("consumer_lag.ack_floor_pinned")
def ack_floor_pinned(snapshots: SnapshotSeries, trend: Trend | None, params: Params) -> Iterator[Finding]:
    """Find floors that do not move; a floor is the message before the oldest unacknowledged one (processAckMsg).

    A redelivered message among few unacknowledged ones has outlived its ack_wait: a worker is slow with it, or rejects
    it each time. Without a redelivery a worker may be busy with it and report progress.
    """
    far = params.integer("far")
    seen = histories(trend)
    for stream, consumer in snapshots.last.led_consumers():
        if consumer.config.ack_policy != "explicit" or is_full(consumer) or consumer.paused:
            continue
        # Deliveries past the floor. Redeliveries count in one numbering, what a filter leaves out in the other.
        by_consumer = consumer.delivered.consumer_seq - consumer.ack_floor.consumer_seq
        behind = min(by_consumer, consumer.delivered.stream_seq - consumer.ack_floor.stream_seq)
        if behind < far or not 0 < consumer.num_ack_pending <= _MAX_SHARE * behind or consumer.num_redelivered == 0:
            yield passed(consumer.subject)
            continue
        history = seen.get(key(consumer))
        if history is None:
            yield unknown(
                consumer.subject, "one reading cannot tell whether the ack floor moves", "run with --samples 2"
            )
        elif history.first.ack_floor.stream_seq < consumer.ack_floor.stream_seq:
            yield passed(consumer.subject)
        elif consumer.config.max_deliver > 0 and not redeliveries(history):
            yield _given_up_or_again(consumer, history)
        else:
            yield _finding(stream, consumer, behind, far)


def _given_up_or_again(consumer: Consumer, history: ConsumerHistory) -> Finding:
    """A floor may also stay in front of a message that reached `max_deliver`: nothing delivers that one again."""
    patience = patience_ns(consumer)
    if history.elapsed_s * 1e9 > patience:
        return passed(consumer.subject)
    return unknown(
        consumer.subject,
        "its ack floor does not move, and the message in front of it may have reached max_deliver: no message was"
        " delivered again between the samples",
        f"run with --interval {patience // 1_000_000_000 + 1}s",
    )


def _finding(stream: Stream, consumer: Consumer, behind: int, far: int) -> Finding:
    oldest = consumer.ack_floor.stream_seq + 1
    few = consumer.num_ack_pending
    kept = (
        ", and the stream keeps everything behind it that other consumers need as well"
        if stream.config.retention == "interest"
        else ""
    )
    return failed(
        consumer.subject,
        f"message {oldest:,} or one soon after it is delivered again and again and never acknowledged: the ack"
        f" floor has not moved while {behind:,} later deliveries were made, of which {few:,} are unacknowledged. A"
        f" restart of the consumer from its floor would repeat them{kept}",
        *shown(consumer, "ack_floor.stream_seq", "delivered.stream_seq", "num_ack_pending", "num_redelivered"),
        measured=(behind, far, "count"),
    )
