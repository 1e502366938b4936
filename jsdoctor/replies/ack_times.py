"""Metrics of acknowledgements to evidence (server: consumer.go sampleAck, JSConsumerAckMetric)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated

import msgspec

from jsdoctor.model.ack_times import MAX_ACKS, AckTimes, ConsumerAcks
from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.replies.decoding import ReplyError, decode
from jsdoctor.replies.missing_replies import unreadable


class Metric(msgspec.Struct, frozen=True):
    """One acknowledgement: `ack_time` in nanoseconds since the last delivery, `deliveries` the number of them."""

    stream: str
    consumer: str
    ack_time: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
    deliveries: int = 1


class Heard(msgspec.Struct, frozen=True):
    """The body of an ACK_METRICS exchange."""

    metrics: Annotated[tuple[Metric, ...], msgspec.Meta(max_length=MAX_ACKS)]


def ack_times(exchanges: Iterable[Exchange], account: str) -> tuple[AckTimes | None, list[Gap]]:
    """The ack metrics of a run, and a gap for what cannot be read. `account`: that of the consumers."""
    metrics_by_consumer: dict[tuple[str, str], list[Metric]] = defaultdict(list)
    gaps: list[Gap] = []
    listened = False
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.ACK_METRICS:
            continue
        try:
            for metric in decode(exchange.body, Heard).metrics:
                metrics_by_consumer[metric.stream, metric.consumer].append(metric)
            listened = True
        except ReplyError as error:
            gaps.append(unreadable(exchange, error))
    consumers = tuple(_consumer(account, *key, metrics) for key, metrics in sorted(metrics_by_consumer.items()))
    return (AckTimes(consumers) if listened else None), gaps


def _consumer(account: str, stream: str, consumer: str, metrics: list[Metric]) -> ConsumerAcks:
    times = tuple(sorted(metric.ack_time for metric in metrics))
    redelivered = sum(metric.deliveries > 1 for metric in metrics)
    return ConsumerAcks(account, stream, consumer, times, redelivered)
