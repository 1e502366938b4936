"""JSD420: many consumers of one kind that nobody uses: an application makes new ones and never deletes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.consumer_lag.progress import quiet_ns
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import span


@check("consumer_lag.abandoned")
def abandoned(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Consumers of one kind have the same configuration but for their names. Sessions of MQTT devices may be away."""
    many, idle_ns = params.integer("many"), params.integer("idle_for")
    for stream in snapshots.last.led_streams():
        if stream.is_mqtt or not stream.consumers:
            continue
        kinds: dict[tuple[object, ...], list[Consumer]] = defaultdict(list)
        for consumer in stream.consumers:
            if consumer.from_leader and _is_unused(consumer, idle_ns):
                kinds[_kind(consumer)].append(consumer)
        largest = max(kinds.values(), key=len, default=[])
        yield _finding(stream, largest, many) if len(largest) >= many else passed(stream.subject)


def _is_unused(consumer: Consumer, idle_ns: int) -> bool:
    client = consumer.push_bound if consumer.config.is_push else consumer.num_waiting > 0
    age_ns = int((consumer.at - consumer.created).total_seconds() * 1e9) if consumer.created else 0
    return not client and not consumer.paused and min(age_ns, quiet_ns(consumer) or 0) >= idle_ns


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
    if config.inactive_threshold_ns:
        end = f"each stays for {span(config.inactive_threshold_ns)} after its last client"
    else:
        end = "nothing deletes them"
    return Finding(
        subject=stream.subject,
        # Durables may belong to devices that are away for long; ephemeral ones belong to nobody any more.
        severity=Severity.INFO if config.durable_name else None,
        message=f"{len(unused):,} {what} of one kind have no client, for example {unused[0].name}: {end}. An"
        " application that makes a new one at each start or request and does not delete it leaves such a trail",
        measured=len(unused),
        threshold=many,
        unit="count",
        evidence=(
            stream.observed("state.consumer_count", stream.state.consumer_count),
            unused[0].observed("config.inactive_threshold", config.inactive_threshold_ns),
            unused[0].observed("created", unused[0].created),
        ),
    )
