"""JSD425: a pull consumer on which as many requests wait as it takes: the server refuses further ones."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import lowest_values
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.wording import counted


@check("consumer_lag.pulls_at_limit")
def pulls_at_limit(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge the lowest number of waiting requests; one beyond the limit gets status 409 (processNextMsgRequest).

    A limit below `chosen_below` is an info: it may be made for exactly the workers that exist.
    """
    warn_at, chosen_below = params.number("warn_fraction"), params.integer("chosen_below")

    def is_near(consumer: Consumer) -> bool:
        limit = consumer.config.max_waiting
        return limit > 0 and not consumer.config.is_push and consumer.num_waiting >= warn_at * limit

    lowest = lowest_values(snapshots, lambda consumer: consumer.num_waiting, is_near)
    for _, consumer in snapshots.last.led_consumers():
        limit = consumer.config.max_waiting
        if limit <= 0 or consumer.config.is_push:
            continue
        waiting = lowest.get(consumer.subject, consumer.num_waiting)
        if waiting < warn_at * limit:
            yield passed(consumer.subject)
        else:
            severity = None if waiting >= limit >= chosen_below else Severity.INFO
            yield _finding(consumer, waiting, severity, len(snapshots.snapshots))


def _finding(consumer: Consumer, waiting: int, severity: Severity | None, samples: int) -> Finding:
    limit = consumer.config.max_waiting
    requests = f"{counted(waiting, 'pull request')} {'waits' if waiting == 1 else 'wait'}"
    refused = 'further ones get status 409 "Exceeded MaxWaiting"'
    if waiting < limit:
        message = f"{requests}, and it takes {limit:,} (max_waiting): beyond that, {refused}"
    elif severity is Severity.INFO:
        message = f"{requests}, as many as it takes (max_waiting): normal for as many workers; {refused}"
    else:
        message = f"{requests}, as many as it takes (max_waiting): {refused}, so some clients receive nothing"
    return failed(
        consumer.subject,
        message,
        *shown(consumer, "num_waiting", "config.max_waiting"),
        severity=severity,
        confidence=Confidence.HIGH if samples > 1 else Confidence.MEDIUM,
        measured=(waiting, limit, "count"),
    )
