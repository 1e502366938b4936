"""JSD513: deliveries that clients refuse with a NAK."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.traffic import share_of_deliveries
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params


@check("packet_reordering.deliveries_refused")
def deliveries_refused(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each consumer."""
    yield from share_of_deliveries(packets, params, lambda traffic: traffic.naks, _message)


def _message(traffic: ConsumerTraffic) -> str:
    again = f"; one message was delivered {traffic.most_deliveries:,} times" if traffic.most_deliveries > 1 else ""
    return f"were refused with a NAK, so the server delivers them again, at once unless the NAK names a delay{again}"
