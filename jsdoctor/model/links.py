"""Gateways, leaf nodes and routes as each server sees them (server: monitor.go Gatewayz, Leafz, Routez)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.finding import Observation, Subject


class Leaf(msgspec.Struct, frozen=True):
    """One leaf node connection. `name` is the other side's server name."""

    name: str = ""
    account: str = ""
    ip: str = ""
    port: int = 0
    is_spoke: bool = False


class Gateway(msgspec.Struct, frozen=True):
    """Gateways to one other cluster. `configured`: named in this server's configuration, not only learned."""

    cluster: str
    configured: bool
    outbound: bool
    inbound: int = 0


class Route(msgspec.Struct, frozen=True):
    """One route connection: to the server of that name, and of one account only where `account` is given."""

    name: str = ""
    account: str = ""
    start: datetime | None = None


class ServerLinks(msgspec.Struct, frozen=True, kw_only=True):
    """The links of one server. None: that endpoint was not collected. `at` is the server's clock.

    `routes` names the servers of its cluster that it has a route to, `route_connections` has each connection and
    `route_count` their number.
    """

    server: str
    cluster: str
    at: datetime
    gateway_name: str = ""
    gateways: tuple[Gateway, ...] | None = None
    leafs: tuple[Leaf, ...] | None = None
    routes: tuple[str, ...] | None = None
    route_connections: tuple[Route, ...] = ()
    route_count: int | None = None

    @property
    def subject(self) -> Subject:
        """This server as the subject of a finding."""
        return Subject(kind="server", name=self.server)

    def observed(self, path: str, value: object) -> Observation:
        """A value of this server's links as evidence."""
        return Observation(source=self.server, path=path, value=value, at=self.at)


class Links(msgspec.Struct, frozen=True):
    """The links of every server that reported them, by server name."""

    servers: tuple[ServerLinks, ...]
