"""Consumers in captures: what was delivered of each, and how its clients acknowledged it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jsdoctor.checks.packets.views import percent, period
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.nats_traffic import ConsumerTraffic
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
    """A finding for each consumer of whose deliveries so large a share (`warn`) ended so; few cases are information.

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
