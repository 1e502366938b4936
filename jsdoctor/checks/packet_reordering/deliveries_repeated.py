"""JSD515: messages that are delivered again."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.consumers import share_of_deliveries
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("packet_reordering.deliveries_repeated")
def deliveries_repeated(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By consumer."""
    yield from share_of_deliveries(packets, params, lambda traffic: traffic.redeliveries, _words)


def _words(traffic: ConsumerTraffic) -> str:
    clauses = [f"were repetitions; one message was delivered {traffic.most_deliveries:,} times"]
    if traffic.naks:
        clauses.append(f"clients sent {traffic.naks:,} NAKs")
    if traffic.redelivery_ns.count:
        waited = span(traffic.redelivery_ns.quantile_ns(0.5))
        clauses.append(f"{traffic.redelivery_ns.count:,} came because no response was seen, usually after {waited}")
    return "; ".join(clauses)
