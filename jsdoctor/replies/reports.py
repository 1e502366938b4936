"""Replies of servers about their Raft groups, connections and links (RAFTZ, CONNZ, GATEWAYZ, LEAFZ)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections, Subscriptions
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.links import Gateway, Leaf, Links, Route, ServerLinks
from jsdoctor.model.raft import RaftMember, RaftState
from jsdoctor.model.reported import Instant, Reported, sent
from jsdoctor.replies.decoding import ReplyError, ServerIdentity
from jsdoctor.replies.missing_replies import unreadable
from jsdoctor.replies.opening import Identities, open_reply
from jsdoctor.replies.user_jwt import issuer_account

NO_RAFT_GROUPS = "No Raft nodes"
"""The reply of /raftz, as text, if there are no groups."""

_ShapeT = TypeVar("_ShapeT")
_RaftzReply = dict[str, dict[str, RaftState]]


class _Closed(ClientConnection, frozen=True):
    """A closed connection. Its JWT is read for the account, and not kept."""

    jwt: str = ""


class _ConnzReply(Reported, frozen=True):
    now: Instant | None = sent(None)
    total: int = 0
    connections: tuple[ClientConnection, ...] | None = sent(None)


class _ClosedReply(Reported, frozen=True):
    now: Instant | None = sent(None)
    connections: tuple[_Closed, ...] | None = sent(None)


class _GatewayConnection(msgspec.Struct, frozen=True):
    name: str = ""
    start: Instant | None = None


class _RemoteGateway(msgspec.Struct, frozen=True):
    configured: bool = False
    connection: _GatewayConnection | None = None


class _GatewayzReply(Reported, frozen=True):
    now: Instant | None = sent(None)
    name: str = ""
    outbound_gateways: dict[str, _RemoteGateway] | None = sent(None)
    inbound_gateways: dict[str, tuple[_RemoteGateway, ...]] | None = sent(None)


class _LeafzReply(Reported, frozen=True):
    now: Instant | None = sent(None)
    leafs: tuple[Leaf, ...] | None = sent(None)


class _RouteReport(msgspec.Struct, frozen=True):
    remote_id: str = ""
    remote_name: str = ""
    account: str = ""
    start: Instant | None = None


class _RoutezReply(Reported, frozen=True):
    now: Instant | None = sent(None)
    num_routes: int | None = None
    routes: tuple[_RouteReport, ...] | None = sent(None)


class ServerReports:
    """Reports of servers in one sample. `identities` maps monitoring addresses to servers; see ServerReplies."""

    def __init__(self, exchanges: Iterable[Exchange], identities: Identities) -> None:
        self.gaps: list[Gap] = []
        self._exchanges = [e for e in exchanges if e.access in (Access.SYSTEM, Access.MONITOR, Access.PASTED)]
        self._identities = identities

    def raft(self) -> tuple[RaftMember, ...] | None:
        """The members of every group, by server, account and group; None if there is no reply."""
        if not self._was_requested(Endpoint.RAFTZ):
            return None
        replies = list(self._replies(Endpoint.RAFTZ, _RaftzReply))
        members = {
            (identity.name, account, group): RaftMember(
                identity.name, account, group, identity.time or exchange.asked_at, state, exchange.asked_at
            )
            for exchange, identity, reply in replies
            for account, groups in reply.items()
            for group, state in groups.items()
        }
        return tuple(members[key] for key in sorted(members)) if replies else None

    def connections(self) -> Connections | None:
        """The connections of every server that listed any of them; None if none did."""
        if not self._was_requested(Endpoint.CONNZ, Endpoint.CONNZ_CLOSED):
            return None
        server_connections: dict[str, ServerConnections] = {}
        totals: dict[str, int] = {}
        for identity, at, reply in self._timed_replies(Endpoint.CONNZ, _ConnzReply, _now):
            listed = _list_of(reply, "connections")
            if listed is not None:
                totals[identity.name] = reply.total
                if (known := server_connections.get(identity.name)) and known.open:  # the pages of one list
                    listed = tuple({connection.cid: connection for connection in (*known.open, *listed)}.values())
            server_connections[identity.name] = ServerConnections(server=identity.name, at=at, open=listed)
        for name, total in totals.items():
            if (count := len(server_connections[name].open or ())) < total:
                subject = Subject(kind="server", name=name)
                reason = f"it listed {count:,} of its {total:,} connections"
                self.gaps.append(Gap("connections", subject, reason, "give the whole list: /connz?limit=1000000"))
        for identity, at, ended in self._timed_replies(Endpoint.CONNZ_CLOSED, _ClosedReply, _now):
            known = server_connections.get(identity.name) or ServerConnections(server=identity.name, at=at)
            closed = _list_of(ended, "connections")
            server_connections[identity.name] = msgspec.structs.replace(
                known, closed=None if closed is None else tuple(map(_with_issuer, closed))
            )
        servers = tuple(server_connections[name] for name in sorted(server_connections))
        return Connections(servers) if servers else None

    def links(self) -> Links | None:
        """The links of every server that reported them; None if none was queried."""
        if not self._was_requested(Endpoint.GATEWAYZ, Endpoint.LEAFZ, Endpoint.ROUTEZ):
            return None
        server_links: dict[str, ServerLinks] = {}
        for identity, at, gateways in self._timed_replies(Endpoint.GATEWAYZ, _GatewayzReply, _now):
            server_links[identity.name] = ServerLinks(
                server=identity.name,
                cluster=identity.cluster,
                at=at,
                gateway_name=gateways.name,
                gateways=_gateways(gateways),
            )
        for identity, at, leafs in self._timed_replies(Endpoint.LEAFZ, _LeafzReply, _now):
            known = server_links.get(identity.name) or ServerLinks(
                server=identity.name, cluster=identity.cluster, at=at
            )
            server_links[identity.name] = msgspec.structs.replace(known, leafs=_list_of(leafs, "leafs"))
        for identity, at, routes in self._timed_replies(Endpoint.ROUTEZ, _RoutezReply, _now):
            known = server_links.get(identity.name) or ServerLinks(
                server=identity.name, cluster=identity.cluster, at=at
            )
            connections = tuple(
                Route(
                    self._identities.name(ServerIdentity(r.remote_name, r.remote_id)), r.account, r.start, r.remote_id
                )
                for r in routes.routes or ()
            )
            peers = tuple(sorted({route.name for route in connections} - {""}))
            server_links[identity.name] = msgspec.structs.replace(
                known,
                routes=None if "routes" in routes.unseen else peers,
                route_connections=connections,
                route_count=len(connections) if routes.num_routes is None else routes.num_routes,
            )
        return Links(tuple(server_links[name] for name in sorted(server_links)))

    def _was_requested(self, *endpoints: Endpoint) -> bool:
        return any(exchange.endpoint in endpoints for exchange in self._exchanges)

    def _timed_replies(
        self, endpoint: Endpoint, shape: type[_ShapeT], clock: Callable[[_ShapeT], datetime | None]
    ) -> Iterator[tuple[ServerIdentity, datetime, _ShapeT]]:
        """Every readable reply with its sender and the sender's time."""
        for exchange, identity, reply in self._replies(endpoint, shape):
            yield identity, clock(reply) or identity.time or exchange.asked_at, reply

    def _replies(self, endpoint: Endpoint, shape: type[_ShapeT]) -> Iterator[tuple[Exchange, ServerIdentity, _ShapeT]]:
        """Every readable reply with its exchange and its sender; each other one becomes a gap."""
        for exchange in self._exchanges:
            if exchange.endpoint is not endpoint:
                continue
            try:
                none = endpoint is Endpoint.RAFTZ and exchange.body.startswith(NO_RAFT_GROUPS.encode())
                read = msgspec.structs.replace(exchange, body=b"{}") if none else exchange
                identity, reply = open_reply(read, self._identities, shape)
            except ReplyError as error:
                self.gaps.append(unreadable(exchange, error))
                continue
            yield exchange, msgspec.structs.replace(identity, name=self._identities.name(identity)), reply


def _with_issuer(closed: _Closed) -> ClientConnection:
    """A connection whose login failed has no account, but the JWT that it gave (server: monitor.go ConnInfo.fill)."""
    if not closed.jwt:
        return closed
    return msgspec.structs.replace(closed, jwt="", issuer_account="" if closed.account else issuer_account(closed.jwt))


def _now(reply: _ConnzReply | _ClosedReply | _GatewayzReply | _LeafzReply | _RoutezReply) -> datetime | None:
    return reply.now


def subscriptions_of(connections: Connections | None) -> Subscriptions | None:
    """The servers whose list has subscriptions; None if there is none."""
    servers = connections.servers if connections else ()
    listed = [s for s in servers if any(c.subscriptions_list_detail for c in s.open or ())]
    return Subscriptions(tuple(listed)) if listed else None


def _list_of(reply: Reported, field: str) -> Any:
    """A list of a reply; None where the reply lacks it."""
    return None if field in reply.unseen else getattr(reply, field) or ()


def _gateways(reply: _GatewayzReply) -> tuple[Gateway, ...] | None:
    if reply.unseen & {"outbound_gateways", "inbound_gateways"}:
        return None
    outbound, inbound = reply.outbound_gateways or {}, reply.inbound_gateways or {}
    out = {name: item.connection for name, item in outbound.items() if item.connection}
    return tuple(
        Gateway(
            cluster=name,
            configured=(name in outbound and outbound[name].configured)
            or any(g.configured for g in inbound.get(name, ())),
            outbound=name in outbound,
            remote_id=out[name].name if name in out else "",
            start=out[name].start if name in out else None,
        )
        for name in sorted({*outbound, *inbound})
    )
