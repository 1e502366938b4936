"""JSD402: more messages arrive for a consumer than its clients acknowledge; it falls back further and further."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.lag_cause import lag_cause, looks_of
from jsdoctor.checks.consumer_lag.loss import time_to_loss
from jsdoctor.checks.consumer_lag.progress import Flow, acknowledged, flow, grows, wait_s
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.params import Params
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import span


@check("consumer_lag.lag_growing")
def lag_growing(trend: Trend, params: Params) -> Iterator[Finding]:
    """A busy consumer's lag rises and falls all the time; what counts is a lag that no batch explains, and that grows.

    Batches never hold more than `max_ack_pending` messages, so a lag below that says nothing of a fetching client.
    """
    return growing(trend.consumers(), params)


def growing(histories: Iterator[ConsumerHistory], params: Params) -> Iterator[Finding]:
    """The same for readings of any distance."""
    minimum, long_s = params.integer("min_pending"), params.integer("min_wait") / 1e9
    for history in histories:
        last = history.last
        if last.paused:
            continue
        capped = last.config.ack_policy != "none" and last.config.max_ack_pending > 0
        batch = last.config.max_ack_pending if capped else 0
        rates = flow(history) if last.num_pending >= max(minimum, batch + 1) else None
        if rates is None or not grows(history, rates):
            yield passed(last.subject)
        elif acknowledged(history) and rates.done > 0:
            yield _finding(history, rates) if wait_s(last, rates) >= long_s else passed(last.subject)


def _finding(history: ConsumerHistory, rates: Flow) -> Finding:
    last, loss = history.last, time_to_loss(history)
    outlook = "at this rate it never catches up"
    if loss:
        when = f"in about {span(int(loss.seconds) * 1_000_000_000)}" if loss.seconds >= 1 else "now"
        outlook += f", and {loss.limit} removes messages before their delivery {when}: {loss.how}"
    return Finding(
        subject=last.subject,
        message=(
            f"{rates.arriving:,.0f} messages/s arrive and {rates.done:,.1f}/s are acknowledged; "
            f"{last.num_pending:,} wait, which is {span(int(wait_s(last, rates)) * 1_000_000_000)} of work "
            f"({looks_of(history)}): {outlook}; {lag_cause(history)}"
        ),
        measured=rates.arriving,
        threshold=rates.done,
        unit="per_second",
        evidence=(
            history.first.observed("num_pending", history.first.num_pending),
            last.observed("num_pending", last.num_pending),
            history.first.observed("delivered.consumer_seq", history.first.delivered.consumer_seq),
            last.observed("delivered.consumer_seq", last.delivered.consumer_seq),
            history.first.observed("num_ack_pending", history.first.num_ack_pending),
            last.observed("num_ack_pending", last.num_ack_pending),
        ),
    )
