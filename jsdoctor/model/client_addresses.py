"""The addresses that servers give to clients, each tried from where jsdoctor runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Observation


class TriedAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """One address, `host:port`. `server` and `cluster` are those of the INFO that came; `error` is why none came."""

    address: str
    server: str = ""
    cluster: str = ""
    error: str = ""


class ClientAddresses(Evidence, frozen=True):
    """What became of the addresses in the INFO of a server (`connect_urls`, of a WebSocket `ws_connect_urls`).

    Clients try them after a connection is lost. `reached` is the address where jsdoctor is connected, `cluster` the
    cluster of that server.
    """

    source = EvidenceSource.LIVE
    parts = ("addresses",)
    unavailable = not_offered(
        "the addresses that servers give to clients were not tried",
        "run from where clients run, with --addresses",
        kind="addresses",
    )
    endpoints = (Endpoint.CLIENT_ADDRESSES,)

    reached: str
    cluster: str
    at: datetime
    tried: tuple[TriedAddress, ...] = ()

    def observed(self, tried: Sequence[TriedAddress]) -> tuple[Observation, ...]:
        """Each of these as evidence of a finding."""
        return tuple(
            Observation(f"INFO of {self.reached}", address.address, address.error or address.cluster, self.at)
            for address in tried
        )
