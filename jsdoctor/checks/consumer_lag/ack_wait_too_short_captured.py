"""JSD410, from packets: acks that came when the message had been sent again already."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import gravest, moment
from jsdoctor.checks.packets.words import percent, rounded
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, passed
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share


@check("consumer_lag.ack_wait_too_short_captured")
def ack_wait_too_short_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By consumer whose acks were seen: how long the work takes, which no configuration tells."""
    judged = (
        _judged(consumer, packets.captures[told.capture].name, params)
        for told in packets.nats
        for consumer in told.consumers
        if consumer.acks or consumer.acked_late
    )
    yield from gravest(judged, Severity.WARNING)


def _judged(consumer: ConsumerTraffic, capture: str, params: Params) -> Finding:
    return _finding(consumer, capture, params) if consumer.acked_late else passed(_subject(consumer))


def _subject(consumer: ConsumerTraffic) -> Subject:
    return Subject(kind="consumer", name=consumer.consumer, stream=consumer.stream)


def _finding(consumer: ConsumerTraffic, capture: str, params: Params) -> Finding:
    late = Share(consumer.acked_late, max(consumer.acks, consumer.acked_late))
    often = late.reaches(params.number("late_acks"), params.integer("enough"))
    usual, again = consumer.ack_ns, consumer.redelivery_ns
    took = f", up to {rounded(consumer.late_ns.largest_ns)} after its delivery" if consumer.late_ns.count else ""
    waits = f"; the earliest second delivery came {rounded(again.least_ns)} after the first" if again.count else ""
    return Finding(
        subject=_subject(consumer),
        severity=None if often else Severity.INFO,
        message=(
            f"{late.events:,} of {late.of:,} acks ({percent(late.ratio)}) came when the message had been sent again"
            f" already{took}{waits}: ack_wait should be twice what the work takes, or more"
        ),
        measured=late.ratio,
        threshold=params.number("late_acks"),
        unit="ratio",
        evidence=(
            Observation(capture, "acks", consumer.acks),
            Observation(capture, "acks after a redelivery", consumer.acked_late),
            Observation(capture, "redeliveries", consumer.redeliveries),
            Observation(capture, "time to ack, p50, ns", usual.quantile_ns(0.5)),
            Observation(capture, "time to ack, p99, ns", usual.quantile_ns(0.99)),
            Observation(capture, "time to late acks, p50, ns", consumer.late_ns.quantile_ns(0.5)),
            Observation(capture, "time to redelivery, least, ns", again.least_ns),
        ),
        first_seen=moment(consumer.first_ns),
        last_seen=moment(consumer.last_ns),
        remedy={"action": "consumer.inspect"},
    )
