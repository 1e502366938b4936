"""JSD428: a durable consumer with pending messages that replays them at the pace of their publishes."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import lowest_values
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries


@check("consumer_lag.replays_original")
def replays_original(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """The server waits between two messages as long as passed between their publishes (server: consumer.go)."""
    least = params.integer("min_pending")
    waiting = lowest_values(snapshots, lambda consumer: consumer.num_pending, _replays_original)
    for _, consumer in snapshots.last.led_consumers():
        if not _replays_original(consumer):
            continue
        pending = waiting[consumer.subject]
        if pending < least:
            yield passed(consumer.subject)
            continue
        yield failed(
            consumer.subject,
            f"{consumer.num_pending:,} messages wait and replay_policy is original: the server waits between"
            " two of them as long as passed between their publishes, however fast their client is",
            *shown(consumer, "config.replay_policy", "num_pending"),
            measured=(pending, least, "count"),
        )


def _replays_original(consumer: Consumer) -> bool:
    config = consumer.config
    return config.replay_policy == "original" and bool(config.durable_name) and not consumer.paused
