"""NATS traffic in captures, in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.traffic_summary import ConsumerSummary, LatencySummary, TrafficSummary
from jsdoctor.render.page import Page
from jsdoctor.render.units import duration


def write_traffic(page: Page, traffic: tuple[TrafficSummary, ...]) -> None:
    """A section, nothing where no capture has NATS in it."""
    for one in traffic:
        page.blank()
        page.line((f"Traffic in {one.capture}", "bold"))
        for words in _lines(one):
            page.line(words, indent=2)


def _lines(one: TrafficSummary) -> Iterator[str]:
    connections = ", ".join(f"{kind.count:,} {kind.name}" for kind in one.connections)
    yield f"{one.packets:,} packets in {duration(one.duration_ns)}; connections: {connections}"
    parts = [f"published {one.published:,}", f"delivered by consumers {one.delivered:,}"]
    for count, what in (
        *((one.refused, "refused"), (one.no_responders, "without responders"), (one.unanswered, "without a reply")),
        *((one.duplicates, "duplicates"), (one.errors, "protocol errors")),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    yield ", ".join(parts)
    if one.publish_acks.count:
        yield f"publish acknowledgements: {_latency(one.publish_acks)}"
    if one.api_requests:
        failed = f", {one.api_failures:,} failed" if one.api_failures else ""
        yield f"JetStream API: {one.api_requests:,} requests{failed}"
    for consumer in one.consumers:
        yield _consumer(consumer)
    for title, entries in (("subjects", one.subjects), ("statuses", one.statuses)):
        if entries:
            yield f"{title}: {', '.join(f'{entry.name} {entry.count:,}' for entry in entries)}"
    if one.clients:
        named = (f"{client.name} ({client.published:,} out, {client.delivered:,} in)" for client in one.clients)
        yield f"clients: {', '.join(named)}"


def _latency(found: LatencySummary) -> str:
    values = (("p50", found.p50_ns), ("p95", found.p95_ns), ("p99", found.p99_ns), ("max", found.largest_ns))
    return f"{found.count:,}, {', '.join(f'{name} {duration(value)}' for name, value in values)}"


def _consumer(one: ConsumerSummary) -> str:
    parts = [f"{one.deliveries:,} delivered"]
    for count, what in (
        *((one.redeliveries, "of them again"), (one.acks, "acks"), (one.naks, "NAKs")),
        *((one.terminated, "terminated"), (one.in_progress, "in progress")),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    if one.ack.count:
        parts.append(f"ack p50 {duration(one.ack.p50_ns)}, p99 {duration(one.ack.p99_ns)}")
    return f"consumer {one.stream}/{one.consumer}: {', '.join(parts)}"
