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

_CURRENT = 1
"""With so many messages a stream holds the current state: readers take what is there."""


@check("sequence_mismatch.consumer_behind")
def consumer_behind(trend: Trend) -> Iterator[Finding]:
    """The consumer's newest position against where the stream began in the oldest sample.

    Read that way, a consumer that keeps up is never behind, however short the stream and however fast it turns over.
    One that reads on while messages are removed in front of it has advanced by more sequences than it was delivered.
    A purge moves the positions of consumers (server: consumer.go purge): it shows by what waited before it and was not
    delivered.
    """
    for history in trend.consumers():
        if _removes_by_design(history.stream):
            continue
        consumer = history.last
        next_seq = consumer.delivered.stream_seq + 1
        if next_seq >= history.streams[0].state.first_seq:
            if missed := _passed_over(history):
                text = f"{counted(missed, 'message')} left the stream before this consumer got them, within"
                then = "it reads on, more slowly than messages are removed in front of it"
                yield _finding(history, f"{text} {span(int(history.elapsed_s * 1e9))}: {then}", missed)
            elif missed := _emptied(history):
                text = f"at least {counted(missed, 'message')} that waited for it are gone without a delivery: within"
                then = "all that the stream held was removed, by a purge, a rollup or limits"
                text = f"{text} {span(int(history.elapsed_s * 1e9))} {then}"
                yield _finding(history, text, missed, Severity.INFO, Confidence.MEDIUM)
            else:
                yield passed(consumer.subject)
        elif not consumer.config.filters:
            first_seq = history.stream.state.first_seq
            text = (
                f"up to {counted(first_seq - next_seq, 'message')} left the stream before this consumer could get them"
            )
            yield _finding(history, f"{text}; it goes on at message {first_seq:,}", first_seq - next_seq)
        elif history.stream.config.retention == "limits" and _stuck(history):
            yield _possible(history)
        else:  # messages of others were removed, and nothing waits for this one
            yield passed(consumer.subject)


def _removes_by_design(stream: Stream) -> bool:
    """Streams that replace messages by newer ones, or whose messages carry their own time to live."""
    config = stream.config
    replaces = config.max_msgs_per_subject > 0 or config.max_msgs == _CURRENT
    return replaces or config.allow_msg_ttl or stream.is_object_store


def _stuck(history: ConsumerHistory) -> bool:
    """Something waits, did so before, and nothing was delivered in between: the gap is not just a quiet filter."""
    first, last = history.first, history.last
    return bool(first.num_pending and last.num_pending) and first.delivered.stream_seq == last.delivered.stream_seq


def _passed_over(history: ConsumerHistory) -> int:
    """At least how many messages between two positions of a consumer at work were removed and not delivered to it.

    Every sequence of the stream was stored (no message was deleted by itself), and the stream still holds one from
    before the first sample: it was not purged in between. A redelivery counts as a delivery, so the number is low.
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


def _emptied(history: ConsumerHistory) -> int:
    """At least how many messages waited for the consumer, are gone with all that the stream held, and were not
    delivered: from each sample to the next, as a stream may be emptied several times. On other streams than those with
    limits retention, messages go when they are acknowledged.
    """
    if history.stream.config.retention != "limits":
        return 0
    samples = zip(history.readings, history.streams, strict=True)
    return sum(_emptied_between(*before, *after) for before, after in pairwise(samples))


def _emptied_between(first: Consumer, before: Stream, last: Consumer, after: Stream) -> int:
    if after.state.first_seq <= before.state.last_seq:
        return 0
    waited = min(first.num_pending, before.state.last_seq - first.delivered.stream_seq)
    return max(waited - (last.delivered.consumer_seq - first.delivered.consumer_seq), 0)


def _possible(history: ConsumerHistory) -> Finding:
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
