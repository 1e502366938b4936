"""JSD413: a consumer so far behind that the stream's limits will remove messages before it gets them.

Over hours: when a stream's limits reach a consumer that has been falling back since an earlier bundle.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import (
    LossForecast,
    falls_back,
    flow,
    lag_cause,
    moved,
    samples_of,
    still_ns,
    time_to_loss,
    wait_s,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.trend import ConsumerHistory, History, Trend
from jsdoctor.model.wording import counted, span


@check("consumer_lag.will_lose_messages")
def will_lose_messages(trend: Trend, params: Params) -> Iterator[Finding]:
    """Judge consumers that have used up `from_share` of a limit: two samples alone give a rate, not a forecast."""
    return losing(trend.consumers(), params)


def losing(histories: Iterator[ConsumerHistory], params: Params) -> Iterator[Finding]:
    """Findings of `will_lose_messages` for readings of any interval."""
    within_s, soon_s = params.integer("within") / 1e9, params.integer("soon") / 1e9
    from_share, least_s = params.number("from_share"), params.integer("min_wait") / 1e9
    for history in histories:
        last = history.last
        loss = time_to_loss(history) if last.num_pending else None
        far = loss is None or not falls_back(history) or loss.seconds > within_s or loss.share < from_share
        if loss is None or far or not _waits(history) or _wait_s(history) < least_s or _deleted_first(history, loss):
            yield passed(last.subject)
        else:
            last, stream = history.last, history.stream
            soon = loss.seconds <= soon_s
            when = f"in about {span(int(loss.seconds) * 1_000_000_000)}" if loss.seconds >= 1 else "now"
            filtered = bool(last.config.filters)
            yield failed(
                last.subject,
                f"{loss.limit} removes messages before their delivery {when}{', at the earliest' if filtered else ''}, "
                f"with {counted(last.num_pending, 'message')} waiting; {loss.how} ({samples_of(history)}); "
                f"{lag_cause(history)}",
                *compared(history.first, last, "delivered.stream_seq"),
                *shown(last, "num_pending"),
                *compared(history.streams[0], stream, "state.last_seq"),
                *shown(stream, "state.first_ts"),
                stream.observed(f"config.{loss.limit}", getattr(stream.config, _FIELDS[loss.limit])),
                severity=None if soon else Severity.WARNING,
                confidence=Confidence.LOW if filtered else Confidence.MEDIUM,
                measured=(int(loss.seconds * 1e9), int((soon_s if soon else within_s) * 1e9), "duration"),
            )


def _deleted_first(history: ConsumerHistory, loss: LossForecast) -> bool:
    """Whether it is an ephemeral consumer without a client that the server deletes before messages are lost."""
    config = history.last.config
    return (
        not config.durable_name
        and not any(reading.push_bound if config.is_push else reading.num_waiting > 0 for reading in history.readings)
        and not moved(history)
        and config.inactive_threshold_ns / 1e9 < loss.seconds
    )


def _wait_s(history: ConsumerHistory) -> float:
    """How long its messages wait for delivery, in seconds; 0 if the consumer was reset."""
    rates = flow(history)
    if rates is None:
        return 0.0
    return wait_s(history.last, rates) if moved(history) else still_ns(history) / 1e9


def _waits(history: ConsumerHistory) -> bool:
    """Whether messages wait. With filters the position proves that only if nothing is delivered or pending grows."""
    if not history.last.config.filters:
        return True
    still = history.first.delivered.consumer_seq == history.last.delivered.consumer_seq
    return history.first.num_pending > 0 and (still or history.first.num_pending < history.last.num_pending)


_FIELDS = {"max_age": "max_age_ns", "max_msgs": "max_msgs", "max_bytes": "max_bytes"}


@check("consumer_lag.will_lose_messages_history")
def will_lose_messages_history(history: History, params: Params) -> Iterator[Finding]:
    """Findings of `will_lose_messages` with earlier bundles as samples."""
    return losing(history.consumers(), params)
