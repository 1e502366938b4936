"""JSD209, from packets: what a push consumer sent and its client was not sent, by the numbers of its deliveries."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import gravest, moment, unreadable, views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, passed, unknown
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_HOW = "capture the connection of a push subscription without a queue group, from its beginning"


@check("sequence_mismatch.delivery_gap_captured")
def delivery_gap_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By consumer. Where several clients share one, each gets a part of the numbers, and nothing is missing."""
    judged = [
        _judged(consumer, packets.captures[told.capture].name, params)
        for told in packets.nats
        for consumer in told.consumers
        if consumer.exclusive
    ]
    yield from gravest(judged, Severity.WARNING)
    if not judged and any(unreadable(view) for view in views(packets)):
        yield unknown(CLUSTER, "the captures show no push consumer of which every delivery must be there", _HOW)


def _judged(consumer: ConsumerTraffic, capture: str, params: Params) -> Finding:
    subject = Subject(kind="consumer", name=consumer.consumer, stream=consumer.stream)
    missing, ahead = consumer.missing, consumer.heartbeats_ahead
    if not (missing or ahead or consumer.restarts):
        return passed(subject)
    quiet = not missing and ahead < params.integer("repeats") and consumer.restarts < params.integer("resets")
    return Finding(
        subject=subject,
        severity=Severity.INFO if quiet else None,
        message=_message(consumer, missing, ahead),
        measured=missing or ahead or consumer.restarts,
        threshold=params.integer("repeats") if ahead and not missing else params.integer("resets"),
        unit="count",
        evidence=(
            Observation(capture, "deliveries", consumer.deliveries),
            Observation(capture, "consumer sequences missing", missing),
            Observation(capture, "began anew", consumer.restarts),
            Observation(capture, "heartbeats ahead", ahead),
        ),
        first_seen=moment(consumer.first_ns),
        last_seen=moment(consumer.last_ns),
    )


def _message(consumer: ConsumerTraffic, missing: int, ahead: int) -> str:
    parts = []
    if missing:
        parts.append(
            f"{missing:,} of its deliveries did not come over any connection in this capture: they were sent while the"
            " client was not there, or over one that broke"
        )
    if ahead:
        parts.append(f"{ahead:,} of {consumer.heartbeats:,} heartbeats name a later delivery than had come")
    if consumer.restarts:
        parts.append(f"its sequence began anew {consumer.restarts:,} times: it was deleted and created again")
    return f"{'; '.join(parts)}; with explicit acknowledgements nothing is lost, without them what is missing is"
