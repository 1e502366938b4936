"""Gateways, leaf nodes and routes as each server sees them (server: monitor.go Gatewayz, Leafz, Routez)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Self

import msgspec

from jsdoctor.model.evidence import NOT_REPORTED, Evidence, EvidenceSource
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.reported import Reported, sent


class Leaf(Reported, frozen=True):
    """One leaf node connection. `name` is the other side's server name; `in_msgs` came from there, `out_msgs` went."""

    name: str = sent("")
    account: str = sent("")
    ip: str = sent("")
    port: int = sent(0)
    is_spoke: bool = sent(False)
    in_msgs: int | None = None
    out_msgs: int | None = None


class Gateway(msgspec.Struct, frozen=True):
    """Gateways to one other cluster. `configured`: named in this server's configuration, not only learned.

    `remote_id` is the id of the server process at the other end of the outbound connection, which exists since `start`.
    """

    cluster: str
    configured: bool
    outbound: bool
    remote_id: str = ""
    start: datetime | None = None


class Route(msgspec.Struct, frozen=True):
    """One route connection: to the server of that name, and of one account only where `account` is given.

    `remote_id` is the id of the server process at the other end: each start of a server makes a new one.
    """

    name: str = ""
    account: str = ""
    start: datetime | None = None
    remote_id: str = ""


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

    def completed(self, before: ServerLinks | None) -> ServerLinks:
        """This reading; parts that it lacks are taken from an earlier reading of this server."""
        if before is None:
            return self
        kept = self if self.routes is not None else _with_routes(self, before)
        return msgspec.structs.replace(
            kept,
            gateway_name=self.gateway_name or before.gateway_name,
            gateways=before.gateways if self.gateways is None else self.gateways,
            leafs=before.leafs if self.leafs is None else self.leafs,
        )

    def observed(self, path: str, value: object) -> Observation:
        """A value of this server's links as evidence."""
        return Observation(source=self.server, path=path, value=value, at=self.at)


class Links(Evidence, frozen=True):
    """The newest links of every server that reported them, by server name. `earlier` has those of earlier samples."""

    source = EvidenceSource.SYSTEM
    parts = ("links",)
    unavailable = NOT_REPORTED
    said_by = ("links",)
    of_deployment = True

    servers: tuple[ServerLinks, ...]
    earlier: tuple[tuple[ServerLinks, ...], ...] = ()

    def readings_of(self, server: str) -> list[ServerLinks]:
        """The links of this server in each sample that has them, oldest first."""
        return [links for sample in (*self.earlier, self.servers) for links in sample if links.server == server]

    def after(self, before: Links) -> Links:
        """These links as the newest; what only an earlier sample shows of a server is kept."""
        known = {server.server: server for server in before.servers}
        newest = {server.server: server.completed(known.get(server.server)) for server in self.servers}
        by_name = known | newest
        return Links(tuple(by_name[name] for name in sorted(by_name)), (*before.earlier, before.servers))

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.server for server in self.servers)

    def without(self, subject: Subject) -> Self:
        """The same without that server."""
        kept = tuple(server for server in self.servers if server.server != subject.name)
        return self if len(kept) == len(self.servers) else msgspec.structs.replace(self, servers=kept)


def _with_routes(links: ServerLinks, before: ServerLinks) -> ServerLinks:
    return msgspec.structs.replace(
        links, routes=before.routes, route_connections=before.route_connections, route_count=before.route_count
    )
