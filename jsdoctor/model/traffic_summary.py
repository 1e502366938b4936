"""NATS in a capture in short, also when nothing is wrong: counts, latencies, clients, subjects, consumers."""

from __future__ import annotations

from collections import Counter

import msgspec

from jsdoctor.model.latency import Latencies, joined
from jsdoctor.model.nats_traffic import ConsumerTraffic, Content, NatsConnection, NatsTraffic
from jsdoctor.model.packets import Capture, PacketEvidence

_MAX_LISTED = 5


class NamedCount(msgspec.Struct, frozen=True):
    """How many of one kind."""

    name: str
    count: int


class LatencySummary(msgspec.Struct, frozen=True):
    """Durations in nanoseconds; 0 where there are none."""

    count: int = 0
    p50_ns: int = 0
    p95_ns: int = 0
    p99_ns: int = 0
    largest_ns: int = 0

    @classmethod
    def of(cls, latencies: Latencies) -> LatencySummary:
        """Quantiles of a histogram, at most 6 % too long."""
        return cls(
            latencies.count,
            latencies.quantile_ns(0.5),
            latencies.quantile_ns(0.95),
            latencies.quantile_ns(0.99),
            latencies.largest_ns,
        )


class ClientSummary(msgspec.Struct, frozen=True):
    """One client connection: who it is by its CONNECT, what it published and what it got."""

    name: str
    published: int
    delivered: int


class ConsumerSummary(msgspec.Struct, frozen=True):
    """One consumer: deliveries and their acknowledgements; `ack` runs from delivery to acknowledgement."""

    stream: str
    consumer: str
    deliveries: int
    redeliveries: int
    acks: int
    naks: int
    terminated: int
    in_progress: int
    ack: LatencySummary


class TrafficSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One capture. Connections are by content: nats, tls, s2, websocket, other, unknown."""

    capture: str
    packets: int
    duration_ns: int
    connections: tuple[NamedCount, ...]
    published: int
    publish_acks: LatencySummary
    refused: int
    duplicates: int
    no_responders: int
    unanswered: int
    delivered: int
    api_requests: int
    api_failures: int
    heartbeats: int
    flow_control: int
    errors: int
    statuses: tuple[NamedCount, ...]
    subjects: tuple[NamedCount, ...]
    clients: tuple[ClientSummary, ...]
    consumers: tuple[ConsumerSummary, ...]


def traffic_summaries(packets: PacketEvidence) -> tuple[TrafficSummary, ...]:
    """One for each capture with NATS in it. Lists hold the busiest five."""
    return tuple(
        _summary(packets.captures[seen.capture], seen)
        for seen in packets.nats
        if any(connection.content is Content.NATS for connection in seen.connections)
    )


def _summary(capture: Capture, seen: NatsTraffic) -> TrafficSummary:
    connections = seen.connections
    published = [connection.publishing for connection in connections]
    statuses: Counter[str] = Counter()
    subjects: Counter[str] = Counter()
    for connection in connections:
        statuses.update({f"{status.code} {status.text}".strip(): status.count for status in connection.statuses})
        subjects.update(dict(connection.subjects))
    return TrafficSummary(
        capture=capture.name,
        packets=capture.packets,
        duration_ns=(capture.last_ns or 0) - (capture.first_ns or 0),
        connections=_named(Counter(connection.content.value for connection in connections)),
        published=sum(publishing.messages for publishing in published),
        publish_acks=LatencySummary.of(joined(publishing.ack_ns for publishing in published)),
        refused=sum(refusal.count for publishing in published for refusal in publishing.refusals),
        duplicates=sum(publishing.duplicates for publishing in published),
        no_responders=sum(publishing.no_responders for publishing in published),
        unanswered=sum(publishing.unanswered for publishing in published),
        delivered=sum(connection.deliveries for connection in connections),
        api_requests=sum(connection.api.requests for connection in connections),
        api_failures=sum(failure.count for connection in connections for failure in connection.api.failures),
        heartbeats=sum(connection.heartbeats.count for connection in connections),
        flow_control=sum(connection.flow_control.requests for connection in connections),
        errors=sum(error.count for connection in connections for error in connection.errors),
        statuses=_named(statuses),
        subjects=_named(subjects),
        clients=_clients(connections),
        consumers=tuple(
            map(_consumer, sorted(seen.consumers, key=lambda consumer: -consumer.deliveries)[:_MAX_LISTED])
        ),
    )


def _named(counts: Counter[str]) -> tuple[NamedCount, ...]:
    return tuple(NamedCount(name, count) for name, count in counts.most_common(_MAX_LISTED))


def _clients(connections: tuple[NatsConnection, ...]) -> tuple[ClientSummary, ...]:
    """The busiest, by name: connections of one name are one client."""
    published: Counter[str] = Counter()
    delivered: Counter[str] = Counter()
    for connection in connections:
        if connection.content is Content.NATS and (connection.publishing.messages or connection.deliveries):
            name = connection.who or "unnamed"
            published[name] += connection.publishing.messages
            delivered[name] += connection.deliveries
    busiest = sorted(published, key=lambda name: (-(published[name] + delivered[name]), name))
    return tuple(ClientSummary(name, published[name], delivered[name]) for name in busiest[:_MAX_LISTED])


def _consumer(traffic: ConsumerTraffic) -> ConsumerSummary:
    return ConsumerSummary(
        stream=traffic.stream,
        consumer=traffic.consumer,
        deliveries=traffic.deliveries,
        redeliveries=traffic.redeliveries,
        acks=traffic.acks,
        naks=traffic.naks,
        terminated=traffic.terminated,
        in_progress=traffic.in_progress,
        ack=LatencySummary.of(traffic.ack_ns),
    )
