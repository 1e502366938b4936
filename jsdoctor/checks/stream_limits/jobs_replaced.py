"""JSD630: queues whose limit for each subject replaces messages that no consumer has processed."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream, same_incarnation
from jsdoctor.model.wording import counted


@check("stream_limits.jobs_replaced")
def jobs_replaced(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge queues with a limit for each subject, which replaces messages unless `discard_new_per_subject` is set."""
    for stream in snapshots.last.led_streams():
        config = stream.config
        if config.retention == "limits" or config.max_msgs_per_subject < 1 or config.mirror is not None:
            continue
        if config.discard == "new" and config.discard_new_per_subject:
            yield passed(stream.subject)
        else:
            yield _finding(stream, _replaced_undelivered(snapshots.snapshots[0], stream, params), params)


def _replaced_undelivered(before: ClusterSnapshot, stream: Stream, params: Params) -> int:
    """Lower bound of the messages that left a work queue undelivered since the first sample; 0 if it is not known.

    An acknowledged message was delivered between the samples, or pending at the first. Small numbers count as 0, as
    state and consumers are read one after the other.
    """
    first = next((each for each in before.led_streams() if each.key == stream.key), None)
    if first is None or stream.config.retention != "workqueue" or not same_incarnation(first, stream):
        return 0
    if not (first.consumers_seen and stream.consumers_seen):
        return 0
    earlier = {consumer.name: consumer for consumer in first.consumers}
    if set(earlier) - {consumer.name for consumer in stream.consumers}:
        return 0  # one was deleted, and what it was given is not known
    delivered = 0
    for consumer in stream.consumers:
        known = earlier.get(consumer.name)
        if not consumer.from_leader or (known and not (known.from_leader and same_incarnation(known, consumer))):
            return 0
        delivered += consumer.delivered.consumer_seq
        delivered += known.num_ack_pending - known.delivered.consumer_seq if known else 0
    stored = stream.state.last_seq - first.state.last_seq
    removed = stored + first.state.messages - stream.state.messages
    lost = removed - delivered
    return lost if lost >= params.integer("min_messages") and lost > delivered * params.number("margin") else 0


def _finding(stream: Stream, lost: int, params: Params) -> Finding:
    """A warning if jobs were lost with `discard: new`; else an info, as only the newest job may be wanted."""
    config = stream.config
    allowed = counted(config.max_msgs_per_subject, "message")
    refuses = ", although discard is new: that holds for the whole stream" if config.discard == "new" else ""
    seen = (
        f"; since the first sample at least {counted(lost, 'message')} left it that no consumer was given"
        if lost
        else "; whether some were replaced before they were worked on does not show now"
    )
    return failed(
        stream.subject,
        f"it keeps {allowed} of each subject, so that a newer one replaces the oldest even if it is not"
        f" acknowledged{refuses}{seen}",
        *shown(stream, "config.max_msgs_per_subject", "config.discard", "state.messages", "state.num_subjects"),
        severity=None if lost and config.discard == "new" else Severity.INFO,
        measured=(lost, params.integer("min_messages"), "count"),
    )
