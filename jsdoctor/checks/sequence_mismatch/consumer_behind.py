"""JSD206: a consumer whose next message is no longer in the stream: messages were removed before it got them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, passed
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted


@check("sequence_mismatch.consumer_behind")
def consumer_behind(trend: Trend) -> Iterator[Finding]:
    """The consumer's newest position against where the stream began in the oldest sample.

    Read that way, a consumer that keeps up is never behind, however short the stream and however fast it turns over.
    A purge moves the positions of consumers, so that it does not show here (server: consumer.go purge).
    """
    for history in trend.consumers():
        if _removes_by_design(history.stream):
            continue
        consumer = history.last
        next_seq = consumer.delivered.stream_seq + 1
        if next_seq >= history.streams[0].state.first_seq:
            yield passed(consumer.subject)
        elif not consumer.config.filters:
            yield _proven(history, history.stream.state.first_seq - next_seq)
        elif history.stream.config.retention == "limits" and _stuck(history):
            yield _possible(history)
        else:  # messages of others were removed, and nothing waits for this one
            yield passed(consumer.subject)


def _removes_by_design(stream: Stream) -> bool:
    """Streams that replace messages by newer ones, or whose messages carry their own time to live."""
    config = stream.config
    return config.max_msgs_per_subject > 0 or config.allow_msg_ttl or stream.is_object_store


def _stuck(history: ConsumerHistory) -> bool:
    """Something waits, did so before, and nothing was delivered in between: the gap is not just a quiet filter."""
    first, last = history.first, history.last
    return bool(first.num_pending and last.num_pending) and first.delivered.stream_seq == last.delivered.stream_seq


def _proven(history: ConsumerHistory, missed: int) -> Finding:
    return _finding(
        history,
        f"up to {counted(missed, 'message')} left the stream before this consumer could get them; "
        f"it goes on at message {history.stream.state.first_seq:,}",
        missed,
    )


def _possible(history: ConsumerHistory) -> Finding:
    first_seq, next_seq = history.stream.state.first_seq, history.last.delivered.stream_seq + 1
    return _finding(
        history,
        f"the stream now begins at message {first_seq:,} and this consumer had not yet come past message {next_seq:,}: "
        "messages that match its filter may have been removed before it got them",
        None,
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
    return Finding(
        subject=consumer.subject,
        severity=severity,
        confidence=confidence,
        message=message,
        measured=missed,
        threshold=None if missed is None else 0,
        unit=None if missed is None else "count",
        evidence=(
            consumer.observed("delivered.stream_seq", consumer.delivered.stream_seq),
            stream.observed("state.first_seq", stream.state.first_seq),
            consumer.observed("num_pending", consumer.num_pending),
        ),
    )
