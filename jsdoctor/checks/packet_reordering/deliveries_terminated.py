"""JSD514: deliveries that clients terminate, so that these messages are not delivered again."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.traffic import share_of_deliveries
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params


@check("packet_reordering.deliveries_terminated")
def deliveries_terminated(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each consumer."""
    yield from share_of_deliveries(
        packets,
        params,
        lambda traffic: traffic.terminated,
        lambda _: "were terminated: the client gave these messages up, and this consumer never delivers them again",
    )
