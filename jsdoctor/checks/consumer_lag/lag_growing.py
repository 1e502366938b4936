"""JSD402: more messages arrive for a consumer than its clients acknowledge; it falls back further and further.

Over hours: a lag that is larger in each bundle than in the one before.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import (
    DeliveryRates,
    acknowledged,
    backlog,
    flow,
    grows,
    lag_cause,
    limit_remedy,
    samples_of,
    time_to_loss,
    wait_s,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.trend import ConsumerHistory, History, Trend
from jsdoctor.model.wording import span

_MAX_BATCH_S = 600
_LONGER = "run again in a minute, or with --samples 4 --interval 30s"
_USUAL_BATCH = 1000
"""The server's default for `max_ack_pending` (server: consumer.go JsDefaultMaxAckPending)."""


@check("consumer_lag.lag_growing")
def lag_growing(trend: Trend, params: Params) -> Iterator[Finding]:
    """Report a lag that grows and that no batch explains; the lag of a busy consumer rises and falls all the time.

    Batches never hold more than `max_ack_pending` messages, so a smaller lag is normal for a client that fetches.
    """
    return growing(trend.consumers(), params)


def growing(histories: Iterator[ConsumerHistory], params: Params) -> Iterator[Finding]:
    """Findings of `lag_growing` for readings of any interval."""
    minimum, long_s = params.integer("min_pending"), params.integer("min_wait") / 1e9
    burst_s = params.integer("burst") / 1e9
    for history in histories:
        last = history.last
        if last.num_pending >= minimum and last.paused:
            continue
        rates = flow(history) if last.num_pending >= minimum and last.num_pending > _batch(history) else None
        if rates is None or not grows(history, rates):
            yield passed(last.subject)
        elif acknowledged(history) and rates.done > 0:
            yield _finding(history, rates, burst_s) if wait_s(last, rates) >= long_s else passed(last.subject)


def _batch(history: ConsumerHistory) -> int:
    """The most messages that a client may have fetched at once, by the configuration or else by the readings.

    0 for readings over ten minutes or more: no client works on one batch for that long without acknowledging it.
    """
    config = history.last.config
    if history.elapsed_s >= _MAX_BATCH_S:
        return 0
    held = max(reading.num_ack_pending for reading in history.readings)
    return shown_or(
        lambda: config.max_ack_pending if config.ack_policy != "none" and config.max_ack_pending > 0 else 0,
        max(held, _USUAL_BATCH),
    )


def _finding(history: ConsumerHistory, rates: DeliveryRates, burst_s: float) -> Finding:
    """An info if the present growth needed less than `burst_s` for the whole backlog: that may be a burst."""
    last, loss = history.last, time_to_loss(history)
    growing_s = backlog(last) / rates.growth
    is_new = growing_s < burst_s
    outlook = "at this rate it never catches up"
    if is_new:
        longest = span(round(growing_s) * 1_000_000_000)
        outlook += f", but it has grown like this for {longest} at most: it may be a burst"
    if loss:
        when = f"in about {span(int(loss.seconds) * 1_000_000_000)}" if loss.seconds >= 1 else "now"
        outlook += f", and {loss.limit} removes messages before their delivery {when}: {loss.how}"
    return failed(
        last.subject,
        f"{rates.arriving:,.0f} messages/s arrive and {rates.done:,.1f}/s are acknowledged; "
        f"{last.num_pending:,} wait, which is {span(int(wait_s(last, rates)) * 1_000_000_000)} of work "
        f"({samples_of(history)}): {outlook}; {lag_cause(history)}",
        *compared(history.first, last, "num_pending", "delivered.consumer_seq", "num_ack_pending"),
        severity=Severity.INFO if is_new else None,
        confidence=Confidence.LOW if is_new else Confidence.HIGH,
        measured=(rates.arriving, rates.done, "per_second"),
        remedy=limit_remedy(history),
        how_to_get=_LONGER if is_new else "",
    )


@check("consumer_lag.lag_growing_history")
def lag_growing_history(history: History, params: Params) -> Iterator[Finding]:
    """Findings of `lag_growing` with earlier bundles as samples."""
    return growing(history.consumers(), params)
