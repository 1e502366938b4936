"""JSD618: a full stream that discards messages which a consumer has not read, and work that leaves its queue undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import flow, was_replaced
from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import storage_fills
from jsdoctor.model.finding import Finding, Severity, compared, failed, passed, shown, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, Trend


@check("stream_limits.unread_evicted")
def unread_evicted(snapshots: SnapshotSeries, trend: Trend | None) -> Iterator[Finding]:
    """Find full streams of which every message is pending for a consumer: each new message removes an unread one.

    The server moves a consumer's position past removed messages, so its position does not show the loss.
    """
    seen = {(h.last.account, h.last.stream, h.last.name): h for h in trend.consumers()} if trend else {}
    for stream, consumer in snapshots.last.led_consumers():
        config = stream.config
        if config.retention != "limits" or config.discard != "old" or config.max_msgs_per_subject > 0 or config.mirror:
            continue
        if not any(fill.no_room for fill in storage_fills(stream)) or stream.state.first_seq <= 1:
            continue
        history = seen.get((consumer.account, consumer.stream, consumer.name))
        if _all_unread(stream, consumer):
            removed = _removed_unread(history)
            now = f"; {removed:,} between the samples of this run" if removed else ""
            yield failed(
                consumer.subject,
                f"all {stream.state.messages:,} messages of the stream are still to be delivered to it, and the stream"
                f" is full and discards the oldest: each new message removes one that this consumer has not read{now}",
                consumer.observed("num_pending", consumer.num_pending),
                *shown(stream, "state.messages", "state.first_seq", "config.discard"),
                severity=Severity.ERROR if removed else None,
                measured=(removed or consumer.num_pending, 0, "count"),
            )
        else:
            yield passed(consumer.subject)


def _all_unread(stream: Stream, consumer: Consumer) -> bool:
    """Whether the oldest message of the stream is still to be delivered to a consumer that wants all of them."""
    if consumer.config.filters or consumer.config.deliver_policy not in ("all", "by_start_sequence"):
        return False
    if consumer.paused or consumer.num_pending == 0:
        return False
    began = consumer.config.opt_start_seq
    return consumer.num_pending >= stream.state.messages and began <= stream.state.first_seq


def _removed_unread(history: ConsumerHistory | None) -> int:
    """Messages that left the stream between the samples, all of them unread."""
    if history is None or not all(_all_unread(s, c) for s, c in zip(history.streams, history.readings, strict=True)):
        return 0
    return history.stream.state.first_seq - history.streams[0].state.first_seq


@check("stream_limits.work_lost")
def work_lost(trend: Trend, params: Params) -> Iterator[Finding]:
    """Compare the messages that left a work queue with those that were acknowledged.

    The reason of the rest is not known: a limit, a time to live or a purge. Small differences do not count, as stream
    and consumers are read at different moments.
    """
    least, share = params.integer("min_lost"), params.number("lost_share")
    done: Counter[tuple[str, str]] = Counter()
    for history in trend.consumers():
        rates = flow(history)
        done[history.last.account, history.last.stream] += round(rates.done * history.elapsed_s) if rates else 0
    for stream in trend.streams():
        if stream.last.config.retention != "workqueue":
            continue
        if not all(reading.consumers_seen for reading in stream.readings):
            reason = "not all of its consumers were seen"
            yield unknown(stream.last.subject, reason, "run again, with a larger --timeout")
            continue
        if _workers_changed(stream):
            reason = "one of its consumers was deleted, replaced or reset between the samples"
            yield unknown(stream.last.subject, reason, "run again")
            continue
        arrived = stream.last.state.last_seq - stream.first.state.last_seq
        removed = arrived - (stream.last.state.messages - stream.first.state.messages)
        lost = removed - done[stream.last.key]
        if lost >= least and lost >= share * removed:
            yield _work_lost_finding(stream, removed, lost, least)
        else:
            yield passed(stream.last.subject)


def _workers_changed(stream: StreamHistory) -> bool:
    """Whether what its consumers were done with is not known: one is gone or new, or its position went back."""
    before, after = ({c.name: c for c in reading.consumers} for reading in (stream.first, stream.last))
    return before.keys() != after.keys() or any(
        was_replaced(before[name], consumer) for name, consumer in after.items()
    )


def _work_lost_finding(history: StreamHistory, removed: int, lost: int, least: int) -> Finding:
    stream, config = history.last, history.last.config
    limits = {"max_age": config.max_age_ns, "max_msgs": config.max_msgs, "max_bytes": config.max_bytes}
    limits["max_msgs_per_subject"] = config.max_msgs_per_subject
    reasons = [name for name, limit in limits.items() if limit > 0] + (["message TTL"] if config.allow_msg_ttl else [])
    reasons += [] if config.deny_purge and config.deny_delete else ["a purge or deletes"]
    return failed(
        stream.subject,
        f"{lost:,} of {removed:,} messages that left this work queue within {history.elapsed_s:.0f} s were"
        f" acknowledged by no consumer: {' or '.join(reasons)} removed them unprocessed",
        *compared(history.first, stream, "state.messages", "state.last_seq"),
        measured=(lost, least, "count"),
        remedy={"action": "stream.look_at_consumers"},
        advice="Get more of the work done in time: start or add workers, or give the messages longer to live.",
    )
