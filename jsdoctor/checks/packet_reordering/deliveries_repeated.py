"""JSD515: messages that are delivered again."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.traffic import share_of_deliveries
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("packet_reordering.deliveries_repeated")
def deliveries_repeated(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each consumer."""
    yield from share_of_deliveries(packets, params, lambda traffic: traffic.redeliveries, _message)


def _message(traffic: ConsumerTraffic) -> str:
    naks, again = traffic.naks, traffic.redelivery_ns
    refused = f"; clients sent {naks:,} NAKs" if naks else ""
    waited = f"usually after {span(again.quantile_ns(0.5))}" if again.count else ""
    silent = f"; {again.count:,} came because no response was seen, {waited}" if again.count else ""
    return f"were repetitions; one message was delivered {traffic.most_deliveries:,} times{refused}{silent}"
