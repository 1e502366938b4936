"""JSD420: many unused consumers of one kind: an application creates new ones and never deletes them.

Over hours: a stream whose consumers without a client become more and more, and those with one do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.consumer_lag.progress import quiet_ns
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed, suspected
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import History
from jsdoctor.model.wording import joined, span


@check("consumer_lag.abandoned")
def abandoned(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Count unused consumers with equal configurations. MQTT streams are left out: devices may be away for long."""
    many, idle_ns = max(params.integer("many"), 1), params.integer("idle_for")
    for stream in snapshots.last.led_streams():
        if stream.is_mqtt or not stream.consumers:
            continue
        without = [consumer for consumer in stream.consumers if consumer.from_leader and _has_no_client(consumer)]
        if len(without) < many:
            yield passed(stream.subject)
            continue
        idle = [(consumer, quiet_ns(consumer)) for consumer in without]
        unused = _largest_kind([consumer for consumer, quiet in idle if quiet is not None and quiet >= idle_ns])
        perhaps = _largest_kind([consumer for consumer, quiet in idle if quiet is None or quiet >= idle_ns])
        lately = _largest_kind([consumer for consumer in without if consumer.delivered.consumer_seq == 0])
        if len(unused) >= many:
            yield _finding(stream, unused, many)
        elif len(lately) >= many:
            yield suspected(
                stream.subject,
                f"{len(lately):,} consumers of one kind, for example {lately[0].name}, have no client and never had a"
                f" delivery; not all of them are older than {span(idle_ns)}",
                f"look again in {span(idle_ns)}: clients that start have come by then",
            )
        elif len(perhaps) >= many:
            yield suspected(
                stream.subject,
                f"{len(perhaps):,} consumers of one kind, for example {perhaps[0].name}, have no client, and the server"
                " does not say when each was used last: a restart forgets that",
                "nats consumer report STREAM shows them again later: those without a client then are not used",
            )
        else:
            yield passed(stream.subject)


_MIN_READINGS = 3
"""Fewest readings that show growth rather than a single step."""


@check("consumer_lag.abandoned_history")
def abandoned_history(history: History, params: Params) -> Iterator[Finding]:
    """Find streams whose consumers without a client become more, while those with one do not.

    A client that is only away had its consumer before, so the total does not grow. Readings without all consumers
    do not count.
    """
    many = max(params.integer("many"), 1)
    for grown in history.streams():
        readings = [stream for stream in grown.readings if len(stream.consumers) >= stream.state.consumer_count]
        if not grown.last.consumers or len(readings) < _MIN_READINGS or readings[-1] is not grown.last:
            continue
        total = [len(stream.consumers) for stream in readings]
        without = [sum(map(_has_no_client, stream.consumers)) for stream in readings]
        served = [every - idle for every, idle in zip(total, without, strict=True)]
        more = min(total[-1] - total[0], without[-1] - without[0])
        if more >= many and served[-1] <= served[0] and total == sorted(total) and total[-2] > total[0]:
            yield _growth_finding(readings, without, served, more, many)
        else:
            yield passed(grown.last.subject)


def _growth_finding(
    readings: Sequence[Stream], without: Sequence[int], served: Sequence[int], more: int, many: int
) -> Finding:
    last = readings[-1]
    newest = max(filter(_has_no_client, last.consumers), key=lambda consumer: str(consumer.created))
    who = (
        "MQTT clients with new client IDs, whose sessions stay" if last.is_mqtt else "clients that leave theirs behind"
    )
    return failed(
        last.subject,
        f"{without[0]:,} consumers had no client, then {joined([f'{count:,}' for count in without[1:]])} in"
        f" {len(readings)} looks; those with a client were {served[0]:,} and are {served[-1]:,}: {who} create them, and"
        f" {_lifetime_text(newest.config)}",
        *compared(readings[0], last, "state.consumer_count"),
        confidence=Confidence.MEDIUM,
        measured=(more, many, "count"),
        between=(readings[0].at, last.at),
    )


def _lifetime_text(config: ConsumerConfig) -> str:
    if config.inactive_threshold_ns:
        return f"each stays for {span(config.inactive_threshold_ns)} after its last client"
    return "nothing deletes them"


def _largest_kind(consumers: Sequence[Consumer]) -> list[Consumer]:
    kinds: dict[tuple[object, ...], list[Consumer]] = defaultdict(list)
    for consumer in consumers:
        kinds[_kind(consumer)].append(consumer)
    return max(kinds.values(), key=len, default=[])


def _has_no_client(consumer: Consumer) -> bool:
    client = consumer.push_bound if consumer.config.is_push else consumer.num_waiting > 0
    return not client and not consumer.paused


def _kind(consumer: Consumer) -> tuple[object, ...]:
    config = consumer.config
    return (
        bool(config.durable_name),
        config.is_push,
        config.deliver_policy,
        config.ack_policy,
        config.filters,
        config.inactive_threshold_ns,
        config.max_deliver,
    )


def _finding(stream: Stream, unused: Sequence[Consumer], many: int) -> Finding:
    config = unused[0].config
    what = "durable consumers" if config.durable_name else "ephemeral consumers"
    # Durables may belong to devices that are away for long; no client will use the ephemeral ones again.
    return failed(
        stream.subject,
        f"{len(unused):,} {what} of one kind have no client, for example {unused[0].name}: {_lifetime_text(config)}. An"
        " application that makes a new one at each start or request and does not delete it leaves such a trail",
        stream.observed("state.consumer_count", stream.state.consumer_count),
        unused[0].observed("config.inactive_threshold", config.inactive_threshold_ns),
        unused[0].observed("created", unused[0].created),
        severity=Severity.INFO if config.durable_name else None,
        measured=(len(unused), many, "count"),
    )
