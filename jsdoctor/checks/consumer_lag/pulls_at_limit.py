"""JSD425: a pull consumer on which as many requests wait as it takes: the server refuses further ones."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.wording import counted


@check("consumer_lag.pulls_at_limit")
def pulls_at_limit(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """A request beyond the limit gets status 409 at once (server: consumer.go processNextMsgRequest)."""
    warn_at = params.number("warn_fraction")
    lowest: dict[tuple[str, str, str], int] = {}
    for snapshot in snapshots.snapshots:
        for _, consumer in snapshot.led_consumers():
            key = _key(consumer)
            lowest[key] = min(lowest.get(key, consumer.num_waiting), consumer.num_waiting)
    for _, consumer in snapshots.last.led_consumers():
        limit = consumer.config.max_waiting
        if limit <= 0 or consumer.config.is_push:
            continue
        waiting = lowest[_key(consumer)]
        if waiting < warn_at * limit:
            yield passed(consumer.subject)
        else:
            yield _finding(consumer, waiting, limit, len(snapshots.snapshots))


def _key(consumer: Consumer) -> tuple[str, str, str]:
    return consumer.account, consumer.stream, consumer.name


def _finding(consumer: Consumer, waiting: int, limit: int, samples: int) -> Finding:
    full = waiting >= limit
    requests = counted(waiting, "pull request")
    refused = 'further ones get status 409 "Exceeded MaxWaiting"'
    message = (
        f"{requests} wait, as many as it takes (max_waiting): {refused}, so some clients receive nothing"
        if full
        else f"{requests} wait, and it takes {limit:,} (max_waiting): beyond that, {refused}"
    )
    return Finding(
        subject=consumer.subject,
        severity=None if full else Severity.INFO,
        confidence=Confidence.HIGH if samples > 1 else Confidence.MEDIUM,
        message=message,
        measured=waiting,
        threshold=limit,
        unit="count",
        evidence=(
            consumer.observed("num_waiting", consumer.num_waiting),
            consumer.observed("config.max_waiting", limit),
        ),
    )
