"""JSD401: a consumer that works, is far behind, and does not catch up."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import (
    DeliveryRates,
    acknowledged,
    flow,
    grows,
    lag_cause,
    limit_remedy,
    samples_of,
    time_to_drain_s,
    wait_s,
)
from jsdoctor.checks.monitor_metadata import own_count
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, span


@check("consumer_lag.lag_high")
def lag_high(trend: Trend, params: Params) -> Iterator[Finding]:
    """Judge consumers that acknowledge; stalled, full, paused and losing ones have rules of their own.

    Many pending messages are no lag if they are delivered in seconds, or if they become fewer.
    """
    warn_pending = params.integer("warn_pending")
    long_s, patience_s = params.integer("min_wait") / 1e9, params.integer("catch_up") / 1e9
    zero_passes = _zero_passes(params)
    for history in trend.consumers():
        last = history.last
        if zero_passes and not last.num_pending:
            yield passed(last.subject)
            continue
        fail_at = _fail_at(last, params)
        warn_at = min(warn_pending, fail_at)
        if last.num_pending < warn_at:
            yield passed(last.subject)
            continue
        if last.paused:
            continue
        rates = flow(history)
        if rates is None or not acknowledged(history) or rates.done <= 0 or grows(history, rates):
            continue
        catching_up = rates.growth < 0 and last.num_pending / -rates.growth <= patience_s
        if catching_up or wait_s(last, rates) < long_s:
            yield passed(last.subject)
        else:
            yield _finding(history, rates, warn_at, fail_at)


@check("consumer_lag.lag_in_one_sample")
def lag_in_one_sample(snapshots: SnapshotSeries, trend: Trend | None, params: Params) -> Iterator[Finding]:
    """Report a large number of pending messages as information where no second sample shows whether it falls."""
    if trend is not None:
        return
    warn_pending, zero_passes = params.integer("warn_pending"), _zero_passes(params)
    for _, consumer in snapshots.last.led_consumers():
        if zero_passes and not consumer.num_pending:
            yield passed(consumer.subject)
            continue
        warn_at = min(warn_pending, _fail_at(consumer, params))
        if consumer.num_pending < warn_at:
            yield passed(consumer.subject)
        elif not _is_paused(consumer):
            yield failed(
                consumer.subject,
                f"{counted(consumer.num_pending, 'message')} wait; one sample does not show whether they become fewer",
                *shown(consumer, "num_pending", "num_ack_pending"),
                severity=Severity.INFO,
                confidence=Confidence.LOW,
                measured=(consumer.num_pending, warn_at, "count"),
            )


def _zero_passes(params: Params) -> bool:
    """Whether the thresholds are above 0, so that no pending messages pass; a consumer's own ones always are."""
    return min(params.integer("warn_pending"), params.integer("error_pending")) > 0


def _is_paused(consumer: Consumer) -> bool:
    """Whether a consumer is known to be paused; a table of consumers does not show it."""
    return shown_or(lambda: consumer.paused, False)


def _fail_at(consumer: Consumer, params: Params) -> int:
    """The consumer's own threshold; the rule's where its metadata is not shown."""
    return shown_or(
        lambda: own_count(params, "error_pending", consumer.config.metadata, "unprocessed-critical"),
        params.integer("error_pending"),
    )


def _finding(history: ConsumerHistory, rates: DeliveryRates, warn_at: int, fail_at: int) -> Finding:
    last, drained_s = history.last, time_to_drain_s(history)
    slowly = "does not fall"
    if drained_s is not None:
        slowly = f"falls so slowly that it takes {span(int(drained_s) * 1_000_000_000)} to work it off"
    severe = last.num_pending >= fail_at
    return failed(
        last.subject,
        f"{last.num_pending:,} messages wait and the number {slowly}: "
        f"{rates.done:,.1f}/s are acknowledged, {rates.arriving:,.1f}/s arrive, "
        f"a new message waits {span(int(wait_s(last, rates)) * 1_000_000_000)} for its turn "
        f"({samples_of(history)}); {lag_cause(history)}",
        *compared(history.first, last, "num_pending", "delivered.consumer_seq"),
        *shown(last, "num_ack_pending"),
        severity=Severity.ERROR if severe else None,
        measured=(last.num_pending, fail_at if severe else warn_at, "count"),
        remedy=limit_remedy(history),
    )
