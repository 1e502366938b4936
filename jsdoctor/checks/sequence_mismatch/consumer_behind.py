"""JSD206: a consumer whose next message is no longer in the stream: messages were removed before it got them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, span

_SKIPPING = ("last", "last_per_subject")
"""Policies with which a consumer starts in the middle, and leaves messages out by design."""

_CURRENT_STATE_MSGS = 1
"""The max_msgs of a stream that holds the current state only: it replaces messages by design."""


@check("sequence_mismatch.consumer_behind")
def consumer_behind(trend: Trend) -> Iterator[Finding]:
    """Compare the consumer's newest position with where the stream began in the oldest sample.

    So a consumer that keeps up is never behind, however fast messages are removed. One that reads on while messages
    are removed before it advances by more sequences than it has deliveries. A purge moves the positions of consumers
    (server: consumer.go purge): it shows by messages that waited and were not delivered.
    """
    for history in trend.consumers():
        if _removes_by_design(history.stream):
            continue
        consumer = history.last
        next_seq = consumer.delivered.stream_seq + 1
        if next_seq >= history.streams[0].state.first_seq:
            if missed := _missed_while_reading(history):
                text = f"{counted(missed, 'message')} left the stream before this consumer got them, within"
                effect = "it reads on, more slowly than messages are removed in front of it"
                yield _finding(history, f"{text} {span(int(history.elapsed_s * 1e9))}: {effect}", missed)
            elif missed := _missed_by_removal_of_all(history):
                text = f"at least {counted(missed, 'message')} that waited for it are gone without a delivery: within"
                effect = "all that the stream held was removed, by a purge, a rollup or limits"
                text = f"{text} {span(int(history.elapsed_s * 1e9))} {effect}"
                yield _finding(history, text, missed, Severity.INFO, Confidence.MEDIUM)
            else:
                yield passed(consumer.subject)
        elif not consumer.config.filters:
            first_seq = history.stream.state.first_seq
            text = (
                f"up to {counted(first_seq - next_seq, 'message')} left the stream before this consumer could get them"
            )
            yield _finding(history, f"{text}; it goes on at message {first_seq:,}", first_seq - next_seq)
        elif history.stream.config.retention == "limits" and _is_stuck(history):
            yield _possible_finding(history)
        else:  # messages of others were removed, and nothing waits for this one
            yield passed(consumer.subject)


def _removes_by_design(stream: Stream) -> bool:
    """Streams that replace messages by newer ones, or whose messages carry their own time to live."""
    config = stream.config
    replaces = config.max_msgs_per_subject > 0 or config.max_msgs == _CURRENT_STATE_MSGS
    return replaces or config.allow_msg_ttl or stream.is_object_store


def _is_stuck(history: ConsumerHistory) -> bool:
    """Whether messages wait in both samples and none was delivered: the gap is not a filter without messages."""
    first, last = history.first, history.last
    return bool(first.num_pending and last.num_pending) and first.delivered.stream_seq == last.delivered.stream_seq


def _missed_while_reading(history: ConsumerHistory) -> int:
    """Lower bound of the messages that were removed before a working consumer got them.

    Only for streams without single deletions that were not purged: they still have a message from before the first
    sample. Redeliveries count as deliveries, which lowers the number.
    """
    first, last, stream = history.first, history.last, history.stream
    config, oldest = last.config, stream.state.first_ts
    if config.filters or config.deliver_policy in _SKIPPING or stream.config.retention != "limits":
        return 0
    if any(reading.state.num_deleted for reading in history.streams) or first.delivered.consumer_seq == 0:
        return 0
    if stream.state.messages == 0 or oldest is None or oldest > history.streams[0].at:
        return 0
    removed = stream.state.first_seq - first.delivered.stream_seq - 1
    advanced = last.delivered.stream_seq - first.delivered.stream_seq
    return max(min(removed, advanced - (last.delivered.consumer_seq - first.delivered.consumer_seq)), 0)


def _missed_by_removal_of_all(history: ConsumerHistory) -> int:
    """Lower bound of the waiting messages that were removed, undelivered, with all others of a limits stream.

    Summed from each sample to the next, as a stream may be emptied several times.
    """
    if history.stream.config.retention != "limits":
        return 0
    samples = zip(history.readings, history.streams, strict=True)
    return sum(_missed_between(*before, *after) for before, after in pairwise(samples))


def _missed_between(first: Consumer, before: Stream, last: Consumer, after: Stream) -> int:
    if after.state.first_seq <= before.state.last_seq:
        return 0
    waited = min(first.num_pending, before.state.last_seq - first.delivered.stream_seq)
    return max(waited - (last.delivered.consumer_seq - first.delivered.consumer_seq), 0)


def _possible_finding(history: ConsumerHistory) -> Finding:
    first_seq, next_seq = history.stream.state.first_seq, history.last.delivered.stream_seq + 1
    return _finding(
        history,
        f"the stream now begins at message {first_seq:,} and this consumer had not yet come past message {next_seq:,}: "
        f"of the {first_seq - next_seq:,} between them, those that match its filter were removed before it got them",
        first_seq - next_seq,
        Severity.INFO,
        Confidence.LOW,
    )


def _finding(
    history: ConsumerHistory,
    message: str,
    missed: int | None,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.HIGH,
) -> Finding:
    consumer, stream = history.last, history.stream
    return failed(
        consumer.subject,
        message,
        consumer.observed("delivered.stream_seq", consumer.delivered.stream_seq),
        stream.observed("state.first_seq", stream.state.first_seq),
        consumer.observed("num_pending", consumer.num_pending),
        severity=severity,
        confidence=confidence,
        measured=(missed, 0, "count"),
    )
