"""JSD411: a durable consumer that an earlier sample shows and the newest does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted, span

Key = tuple[str, str, str]


@check("consumer_lag.missing")
def missing(trend: Trend, params: Params) -> Iterator[Finding]:
    """Compares lists of consumers; only a list that is complete can lack one.

    A consumer with an `inactive_threshold` may go by itself; those of a stream that was made anew are JSD203's.
    Jobs create durable consumers and delete them when they are done: one younger than `settled` is no fault.
    """
    settled = timedelta(microseconds=params.integer("settled") / 1000)
    return gone(trend.snapshots, settled=settled)


def gone(
    snapshots: tuple[ClusterSnapshot, ...], severity: Severity | None = None, settled: timedelta = timedelta(0)
) -> Iterator[Finding]:
    """The same for looks of any distance, the newest last. A consumer that was younger than `settled` may go."""
    last = snapshots[-1]
    there = {_key(consumer) for stream in last.streams for consumer in stream.consumers}
    silent = {(asset.subject.account, asset.subject.stream, asset.subject.name) for asset in last.silent}
    streams = {(stream.account, stream.name): stream for stream in last.led_streams()}
    created = {(s.account, s.name, s.created) for snapshot in snapshots[:-1] for s in snapshot.streams}
    for consumer in _seen_before(snapshots[:-1]).values():
        stream = streams.get((consumer.account, consumer.stream))
        key = _key(consumer)
        if stream is None or key in silent or (stream.account, stream.name, stream.created) not in created:
            continue
        if key in there:
            yield passed(consumer.subject)
        elif consumer.created and consumer.at - consumer.created < settled:
            yield passed(consumer.subject) if _is_at_rest(consumer) else _short_lived(consumer)
        elif (reason := _why_unsure(consumer, stream)) is not None:
            yield unknown(consumer.subject, reason, "see what could not be seen, and run again")
        else:
            at_rest = Severity.INFO if settled and _is_at_rest(consumer) else severity
            yield _finding(consumer, stream, at_rest)


def _short_lived(consumer: Consumer) -> Finding:
    """It is gone with work left or clients waiting, but jobs make and delete consumers within minutes."""
    age = int((consumer.at - consumer.created).total_seconds() * 1e9) if consumer.created else 0
    waited = counted(consumer.num_pending + consumer.num_ack_pending, "message")
    return unknown(
        consumer.subject,
        f"it was {span(age)} old and is gone, with {waited} that it had not done: a job may have deleted it",
        "ask its owner; `nats stream info` shows which consumers are left",
    )


def _is_at_rest(consumer: Consumer) -> bool:
    """Whether it had nothing left to do and no clients: whoever deletes it then knows what they do."""
    has_clients = consumer.push_bound if consumer.config.is_push else consumer.num_waiting > 0
    return not (consumer.num_pending or consumer.num_ack_pending or has_clients)


def _key(consumer: Consumer) -> Key:
    return consumer.account, consumer.stream, consumer.name


def _seen_before(snapshots: tuple[ClusterSnapshot, ...]) -> dict[Key, Consumer]:
    """The newest reading of every consumer that stays until somebody deletes it."""
    return {
        _key(consumer): consumer
        for snapshot in snapshots
        for _, consumer in snapshot.led_consumers()
        if consumer.config.durable_name and consumer.config.inactive_threshold_ns == 0
    }


def _why_unsure(consumer: Consumer, stream: Stream) -> str | None:
    """Servers list only what they hold, so those that held the consumer must have been heard again."""
    if not stream.consumers_seen:
        return "not all consumers of its stream were listed"
    held = {consumer.answered_by, *(replica.server for replica in consumer.replicas)} - {""}
    heard = {replica.server for replica in stream.replicas}
    unheard = held - heard if stream.replicas else set()
    return f"{', '.join(sorted(unheard))} held it and did not list the stream again" if unheard else None


def _finding(consumer: Consumer, stream: Stream, severity: Severity | None) -> Finding:
    lost = stream.config.retention != "limits"
    waited = counted(consumer.num_pending + consumer.num_ack_pending, "message")
    return Finding(
        subject=consumer.subject,
        severity=severity,
        message=(
            f"this durable consumer was there and is gone, with {waited} that it had not done: its clients get no "
            "messages and, with push, no error" + ("; the stream may delete what only it waited for" if lost else "")
        ),
        last_seen=consumer.at,
        evidence=(
            consumer.observed("delivered.stream_seq", consumer.delivered.stream_seq),
            consumer.observed("ack_floor.stream_seq", consumer.ack_floor.stream_seq),
            stream.observed("state.consumer_count", stream.state.consumer_count),
        ),
    )
