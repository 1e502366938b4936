"""JSD520: advisories that messages reached max_deliver."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_KIND = "CONSUMER.MAX_DELIVERIES."


@check("packet_reordering.max_deliveries_reached")
def max_deliveries_reached(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each consumer that an advisory names; without subscribers to advisories there is nothing to judge."""
    by_consumer: dict[Subject, tuple[int, str]] = {}
    listening = []
    for view in views(packets):
        if view.nats.advisories:
            listening.append(view.subject)
        for name, count in view.nats.advisories:
            if name.startswith(_KIND):
                stream, _, consumer = name[len(_KIND) :].partition(".")
                subject = Subject(kind="consumer", name=consumer, stream=stream)
                seen = (count, view.capture.name)
                by_consumer[subject] = max(by_consumer.get(subject, seen), seen)
    for subject, (count, capture) in by_consumer.items():
        yield failed(
            subject,
            f"{count:,} {'message' if count == 1 else 'messages'} reached max_deliver without an ack, as advisories"
            " say: this consumer does not deliver them again",
            Observation(capture, "advisories MAX_DELIVERIES", count),
            severity=None if count >= params.integer("warn") else Severity.INFO,
            measured=(count, params.integer("warn"), "count"),
        )
    if not by_consumer:
        yield from map(passed, listening)
