"""Consumers and publishes of all connections in captures, put together by consumer and by stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jsdoctor.checks.packets.views import View, percent, period, unreadable, views
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.nats_traffic import ConsumerTraffic, RefusedPublishes
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share


class ConsumerView(NamedTuple):
    """One consumer in the capture that shows most of it."""

    capture: str
    traffic: ConsumerTraffic

    @property
    def subject(self) -> Subject:
        """The consumer."""
        return Subject(kind="consumer", name=self.traffic.consumer, stream=self.traffic.stream)


def consumers(packets: PacketEvidence) -> Iterator[ConsumerView]:
    """Every consumer with deliveries, once, though several captures show it."""
    best: dict[tuple[str, str, str], ConsumerView] = {}
    for seen in packets.nats:
        for traffic in seen.consumers:
            key = (traffic.domain, traffic.stream, traffic.consumer)
            if key not in best or traffic.deliveries > best[key].traffic.deliveries:
                best[key] = ConsumerView(packets.captures[seen.capture].name, traffic)
    yield from (view for view in best.values() if view.traffic.deliveries)


def _deliveries(number: int) -> str:
    return f"{number:,} {'delivery' if number == 1 else 'deliveries'}"


def share_of_deliveries(
    packets: PacketEvidence,
    params: Params,
    what: Callable[[ConsumerTraffic], int],
    words: Callable[[ConsumerTraffic], str],
) -> Iterator[Finding]:
    """A finding for each consumer with deliveries that `what` counts; an info if their share is below `warn`.

    `words` continues "N of M deliveries (P %) ".
    """
    for view in consumers(packets):
        traffic = view.traffic
        share = Share(what(traffic), traffic.deliveries)
        if not share.events:
            yield passed(view.subject)
            continue
        often = share.reaches(params.number("warn"), params.integer("enough"))
        yield failed(
            view.subject,
            f"{share.events:,} of {_deliveries(traffic.deliveries)} ({percent(share.ratio)}) {words(traffic)}",
            *(
                Observation(view.capture, name, value)
                for name, value in (
                    ("deliveries", traffic.deliveries),
                    ("redeliveries", traffic.redeliveries),
                    ("most deliveries of one message", traffic.most_deliveries),
                    ("acks", traffic.acks),
                    ("naks", traffic.naks),
                    ("terminated", traffic.terminated),
                    ("in progress", traffic.in_progress),
                )
            ),
            severity=None if often else Severity.INFO,
            measured=(share.ratio, params.number("warn"), "ratio"),
            between=period(traffic),
        )


class RefusedBy(NamedTuple):
    """A refusal and the connection that it came over."""

    view: View
    refusal: RefusedPublishes


def refused(packets: PacketEvidence, wanted: Callable[[int], bool]) -> dict[Subject, list[RefusedBy]]:
    """Refusals with the wanted error codes, by stream, else by connection.

    Of two captures of a connection, the one with more refusals is taken.
    """
    best: dict[tuple[Subject, Subject], list[RefusedBy]] = {}
    for view in views(packets):
        by_stream: dict[Subject, list[RefusedBy]] = {}
        for refusal in view.nats.publishing.refusals:
            if wanted(refusal.err_code):
                subject = Subject(kind="stream", name=refusal.stream) if refusal.stream else view.subject
                by_stream.setdefault(subject, []).append(RefusedBy(view, refusal))
        for subject, item in by_stream.items():
            known = best.get((subject, view.subject), [])
            if total(item) > total(known):
                best[subject, view.subject] = item
    by_subject: dict[Subject, list[RefusedBy]] = {}
    for (subject, _), item in best.items():
        by_subject.setdefault(subject, []).extend(item)
    return by_subject


def total(refusals: list[RefusedBy]) -> int:
    """How many refusals these are."""
    return sum(refusal.refusal.count for refusal in refusals)


def readable_publishers(packets: PacketEvidence) -> Iterator[View]:
    """Connections whose publishes to JetStream were captured with their acks."""
    return (view for view in views(packets) if view.nats.publishing.acks)


def no_publishes(packets: PacketEvidence) -> Iterator[Finding]:
    """Yield `unknown` if some connection cannot be read; else nothing, as there are no publishes to JetStream."""
    if any(unreadable(view) for view in views(packets)):
        yield unknown(
            CLUSTER,
            "no publish to JetStream was seen in the captures, and some of their connections cannot be read",
            "capture a connection of the publisher from its beginning, whole packets, where it is not encrypted",
        )
