"""JSD408: much of what a consumer delivers are messages that it had delivered before."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from jsdoctor.checks.consumer_lag.progress import acknowledged, is_full
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, compared, failed, passed, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.share import Share
from jsdoctor.model.snapshot import Consumer
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, span

_REFUSED_FACTOR = 2
"""With more than this many times the repeats that timeouts explain, messages were refused."""
_DEVIATIONS = 2
"""They must also exceed these repeats by this many standard deviations (of a Poisson distribution) and one."""

_FEW = "; so few may as well be refused with a delay, a longer --interval shows which"
_OVER = "; none of its messages waits for an acknowledgement any more, so these repeats are over"


@check("consumer_lag.redelivery_high")
def redelivery_high(trend: Trend, params: Params) -> Iterator[Finding]:
    """Each delivery has its own consumer sequence, each message one stream sequence: the difference are redeliveries.

    Filters and deleted messages make stream sequences jump, so the count is a lower bound. `num_redelivered` is no
    counter: it is the number of messages that are unacknowledged after several deliveries, and 0 between two of them.
    """
    warn_at, fail_at = params.number("warn_share"), params.number("error_share")
    enough, least = params.integer("min_deliveries"), params.integer("min_repeats")
    for history in trend.consumers():
        first, last = history.first, history.last
        deliveries = last.delivered.consumer_seq - first.delivered.consumer_seq
        repeats = _repeats(first, last)
        share = Share(repeats, max(deliveries, 0))
        if last.num_pending and not acknowledged(history) and is_full(last):
            continue
        quiet = share.ratio < warn_at or not _repeats(history.readings[-2], last)
        if (quiet or deliveries < enough) and _share_since_created(last).reaches(fail_at, least):
            yield _since_created(last, fail_at)
        elif quiet:
            yield passed(last.subject)
        elif deliveries < enough or not share.reaches(warn_at, least):
            reason = f"{repeats:,} of {deliveries:,} deliveries between the samples were repeated: too few for a share"
            yield suspected(last.subject, reason, "run with a longer --interval, e.g. 30s")
        else:
            is_over = _is_over(last)
            severe = share.reaches(fail_at, enough) and not is_over
            tried = "" if severe or is_over else _refusals_text(history, repeats)
            few = not (severe or is_over or tried) and repeats < enough and _repeats_end(history)
            severity = Severity.ERROR if severe else Severity.INFO if is_over or tried or few else Severity.WARNING
            text = (
                f"at least {repeats:,} of {deliveries:,} deliveries in {history.elapsed_s:.0f}s were repeats: their"
                f" messages {tried or _cause_text(history, repeats)}{_OVER if is_over else _FEW if few else ''}"
            )
            yield _finding(history, share, fail_at if severe else warn_at, severity, text)


def _repeats(before: Consumer, after: Consumer) -> int:
    by_consumer = after.delivered.consumer_seq - before.delivered.consumer_seq
    by_stream = _new_messages(before, after)
    # A reset consumer counts from the beginning and delivers old messages again on purpose.
    return by_consumer - by_stream if by_consumer > by_stream >= 0 else 0


def _new_messages(before: Consumer, after: Consumer) -> int:
    return after.delivered.stream_seq - before.delivered.stream_seq


def _share_since_created(last: Consumer) -> Share:
    """The share of repeats among all deliveries since it was created, as a lower bound; 0 if none is unacknowledged.

    A consumer sequence above the newest stream sequence counts repeats, as each message has one first delivery.
    """
    deliveries = last.delivered.consumer_seq if last.num_redelivered else 0
    return Share(max(deliveries - last.delivered.stream_seq, 0), deliveries)


def _since_created(last: Consumer, threshold: float) -> Finding:
    """An info: most of the repeats may have been long ago."""
    share = _share_since_created(last)
    return failed(
        last.subject,
        f"at least {share.events:,} of {share.of:,} deliveries since it was created were repeats, and"
        f" {counted(last.num_redelivered, 'message')} that came again now wait for an acknowledgement; a longer"
        " --interval shows whether that goes on",
        *(
            last.observed(name, value)
            for name, value in (
                ("delivered.consumer_seq", last.delivered.consumer_seq),
                ("delivered.stream_seq", last.delivered.stream_seq),
                ("num_redelivered", last.num_redelivered),
            )
        ),
        severity=Severity.INFO,
        measured=(share.ratio, threshold, "ratio"),
    )


def _is_over(last: Consumer) -> bool:
    """Whether no delivered message is unacknowledged, so that none can be delivered again."""
    return shown_or(lambda: last.num_ack_pending, 1) == 0


def _cause_text(history: ConsumerHistory, repeats: int) -> str:
    """Why messages are repeated: refused, if there are more repeats than timeouts of all messages can cause.

    They are of messages between the ack floor and the newest delivery (server: consumer.go processNak, checkPending).
    """
    first, last = history.first, history.last
    wait_ns = _wait_ns(last)
    messages = last.delivered.stream_seq - first.ack_floor.stream_seq
    if wait_ns <= 0 or messages <= 0:
        return "were not acknowledged in time, or were refused"
    each = history.elapsed_s * 1e9 / wait_ns + 1
    if repeats > messages * each:
        return (
            f"are refused and come again at once: {counted(messages, 'message')} could run out of time {each:,.1f}"
            f" times each, with a wait of {span(wait_ns)}, and no more"
        )
    return f"were not acknowledged within {span(wait_ns)}, or were refused"


def _wait_ns(consumer: Consumer) -> int:
    """The shortest time after which a message comes again by itself; 0 where it is not shown."""
    return shown_or(lambda: min((consumer.config.ack_wait_ns, *consumer.config.backoff_ns)), 0)


def _repeats_end(history: ConsumerHistory) -> bool:
    """Whether repeats end: by `max_deliver`, or as the ack floor moves at least half as fast as deliveries."""
    first, last = history.first, history.last
    acknowledged_by = last.ack_floor.stream_seq - first.ack_floor.stream_seq
    return last.config.max_deliver > 0 or 0 < _new_messages(first, last) <= 2 * acknowledged_by


def _refusals_text(history: ConsumerHistory, repeats: int) -> str:
    """Half a sentence if an application refuses some messages with a delay, which is no fault; or empty.

    It does if there are far more repeats than the unacknowledged messages cause, each once in `ack_wait`.
    """
    wait_ns = _wait_ns(history.last)
    if wait_ns <= 0 or not _repeats_end(history):
        return ""
    pending = max(reading.num_ack_pending for reading in history.readings)
    late = pending * history.elapsed_s * 1e9 / wait_ns
    if repeats <= max(_REFUSED_FACTOR * late, late + _DEVIATIONS * sqrt(late) + 1):
        return ""
    return (
        "are refused with a delay, or were those of a worker that ended: of at most"
        f" {counted(pending, 'unacknowledged message')} about {late:,.0f} would run out of time, with a wait of"
        f" {span(wait_ns)}"
    )


def _finding(history: ConsumerHistory, share: Share, threshold: float, severity: Severity, message: str) -> Finding:
    first, last = history.first, history.last
    return failed(
        last.subject,
        message,
        *compared(first, last, "delivered.consumer_seq", "delivered.stream_seq"),
        last.observed("config.ack_wait", shown_or(lambda: last.config.ack_wait_ns, None)),
        last.observed("num_redelivered", last.num_redelivered),
        severity=severity,
        measured=(share.ratio, threshold, "ratio"),
    )
