"""NATS traffic in captures, in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.traffic_summary import ConsumerSummary, LatencySummary, TrafficSummary
from jsdoctor.model.wording import span
from jsdoctor.render.page import Page


def write_traffic(page: Page, traffic: tuple[TrafficSummary, ...]) -> None:
    """A section, nothing where no capture has NATS in it."""
    for summary in traffic:
        page.blank()
        page.line((f"Traffic in {summary.capture}", "bold"))
        for words in _lines(summary):
            page.line(words, indent=2)


def _lines(summary: TrafficSummary) -> Iterator[str]:
    connections = ", ".join(f"{kind.count:,} {kind.name}" for kind in summary.connections)
    yield f"{summary.packets:,} packets in {span(summary.duration_ns)}; connections: {connections}"
    parts = [f"published {summary.published:,}", f"delivered by consumers {summary.delivered:,}"]
    for count, what in (
        *(
            (summary.refused, "refused"),
            (summary.no_responders, "without responders"),
            (summary.unanswered, "without a reply"),
        ),
        *((summary.duplicates, "duplicates"), (summary.errors, "protocol errors")),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    yield ", ".join(parts)
    if summary.publish_acks.count:
        yield f"publish acknowledgements: {_latency(summary.publish_acks)}"
    if summary.api_requests:
        failed = f", {summary.api_failures:,} failed" if summary.api_failures else ""
        yield f"JetStream API: {summary.api_requests:,} requests{failed}"
    for consumer in summary.consumers:
        yield _consumer(consumer)
    for title, entries in (("subjects", summary.subjects), ("statuses", summary.statuses)):
        if entries:
            yield f"{title}: {', '.join(f'{entry.name} {entry.count:,}' for entry in entries)}"
    if summary.clients:
        named = (f"{client.name} ({client.published:,} out, {client.delivered:,} in)" for client in summary.clients)
        yield f"clients: {', '.join(named)}"


def _latency(latency: LatencySummary) -> str:
    values = (("p50", latency.p50_ns), ("p95", latency.p95_ns), ("p99", latency.p99_ns), ("max", latency.largest_ns))
    return f"{latency.count:,}, {', '.join(f'{name} {span(value)}' for name, value in values)}"


def _consumer(summary: ConsumerSummary) -> str:
    parts = [f"{summary.deliveries:,} delivered"]
    for count, what in (
        *((summary.redeliveries, "of them again"), (summary.acks, "acks"), (summary.naks, "NAKs")),
        *((summary.terminated, "terminated"), (summary.in_progress, "in progress")),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    if summary.ack.count:
        parts.append(f"ack p50 {span(summary.ack.p50_ns)}, p99 {span(summary.ack.p99_ns)}")
    return f"consumer {summary.stream}/{summary.consumer}: {', '.join(parts)}"
