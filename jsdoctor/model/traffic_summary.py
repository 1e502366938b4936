"""NATS in a capture in short, also when nothing is wrong: counts, latencies, clients, subjects, consumers."""

from __future__ import annotations

from collections import Counter

import msgspec

from jsdoctor.model.latency import Latencies, joined
from jsdoctor.model.nats_traffic import ConsumerTraffic, Content, NatsConnection, NatsTraffic
from jsdoctor.model.packets import Capture, PacketEvidence

_MOST = 5


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
    def of(cls, found: Latencies) -> LatencySummary:
        """Quantiles of a histogram, at most 6 % too long."""
        return cls(
            found.count,
            found.quantile_ns(0.5),
            found.quantile_ns(0.95),
            found.quantile_ns(0.99),
            found.largest_ns,
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
        if any(talk.content is Content.NATS for talk in seen.connections)
    )


def _summary(capture: Capture, seen: NatsTraffic) -> TrafficSummary:
    talks = seen.connections
    published = [talk.publishing for talk in talks]
    statuses: Counter[str] = Counter()
    subjects: Counter[str] = Counter()
    for talk in talks:
        statuses.update({f"{one.code} {one.text}".strip(): one.count for one in talk.statuses})
        subjects.update(dict(talk.subjects))
    return TrafficSummary(
        capture=capture.name,
        packets=capture.packets,
        duration_ns=(capture.last_ns or 0) - (capture.first_ns or 0),
        connections=_named(Counter(talk.content.value for talk in talks)),
        published=sum(one.messages for one in published),
        publish_acks=LatencySummary.of(joined(one.ack_ns for one in published)),
        refused=sum(refusal.count for one in published for refusal in one.refusals),
        duplicates=sum(one.duplicates for one in published),
        no_responders=sum(one.no_responders for one in published),
        unanswered=sum(one.unanswered for one in published),
        delivered=sum(talk.deliveries for talk in talks),
        api_requests=sum(talk.api.requests for talk in talks),
        api_failures=sum(one.count for talk in talks for one in talk.api.failures),
        heartbeats=sum(talk.heartbeats.count for talk in talks),
        flow_control=sum(talk.flow_control.requests for talk in talks),
        errors=sum(error.count for talk in talks for error in talk.errors),
        statuses=_named(statuses),
        subjects=_named(subjects),
        clients=_clients(talks),
        consumers=tuple(map(_consumer, sorted(seen.consumers, key=lambda one: -one.deliveries)[:_MOST])),
    )


def _named(counts: Counter[str]) -> tuple[NamedCount, ...]:
    return tuple(NamedCount(name, count) for name, count in counts.most_common(_MOST))


def _clients(talks: tuple[NatsConnection, ...]) -> tuple[ClientSummary, ...]:
    """The busiest, by name: connections of one name are one client."""
    published: Counter[str] = Counter()
    delivered: Counter[str] = Counter()
    for talk in talks:
        if talk.content is Content.NATS and (talk.publishing.messages or talk.deliveries):
            name = talk.who or "unnamed"
            published[name] += talk.publishing.messages
            delivered[name] += talk.deliveries
    busiest = sorted(published, key=lambda name: (-(published[name] + delivered[name]), name))
    return tuple(ClientSummary(name, published[name], delivered[name]) for name in busiest[:_MOST])


def _consumer(one: ConsumerTraffic) -> ConsumerSummary:
    return ConsumerSummary(
        stream=one.stream,
        consumer=one.consumer,
        deliveries=one.deliveries,
        redeliveries=one.redeliveries,
        acks=one.acks,
        naks=one.naks,
        terminated=one.terminated,
        in_progress=one.in_progress,
        ack=LatencySummary.of(one.ack_ns),
    )
