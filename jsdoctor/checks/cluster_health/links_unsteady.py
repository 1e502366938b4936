"""JSD725: leaf node links, routes and gateways that end and are connected again, over and over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec

from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, most_common, not_listed
from jsdoctor.checks.servers.health import started_at, uptime_ns
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.trend import ServerTrend
from jsdoctor.model.wording import counted, span

_LEAF = "Leafnode"
"""The kind of a leaf node connection in CONNZ (server: client.go kindString)."""
_NEVER_UP = frozenset(("Authentication Failure", "Authentication Timeout", "TLS Handshake Failure"))
"""Reasons with which a connection was refused before it became a link."""
_POOL_INTERVAL = timedelta(seconds=2)
"""Connections that start within this time are one pool of routes, and count once."""
_MIN_STEADY = timedelta(minutes=1)
"""A link that has held for longer than this, and for `_STEADY_TIMES` its usual time, is steady again."""
_STEADY_TIMES = 3
_EFFECT = (
    "while it is down nothing goes over it, subscriptions are sent again each time, and mirrors, sources and Raft"
    " groups across it start over"
)


class _Ended(msgspec.Struct, frozen=True):
    """The connections of one leaf node link that ended, oldest first."""

    remote: str
    account: str
    connections: tuple[ClientConnection, ...]

    def is_unsteady(self, at: datetime) -> bool:
        """Whether it has not held for clearly longer than before."""
        stops = _stops(self.connections)
        usual = (stops[-1] - stops[0]) / max(1, len(stops) - 1)
        return at - stops[-1] <= max(_MIN_STEADY, _STEADY_TIMES * usual)


@check("cluster_health.leafs_unsteady")
def leafs_unsteady(connections: Connections, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """The closed connections of a server are those of clients and leaf nodes (server: client.go markConnAsClosed)."""
    known = {server.name: server for server in servers.servers} if servers else {}
    for listed in connections.servers:
        if listed.closed is None:
            yield not_listed(listed)
            continue
        ended = list(_ended(listed, known, params))
        if ended:
            yield _leaf_finding(listed, ended, params)
        elif _has_leaf_nodes(known.get(listed.server)):
            yield passed(listed.subject)


def _has_leaf_nodes(server: Server | None) -> bool:
    leaf = server.varz.leaf if server and server.varz else None
    return leaf is not None and bool(leaf.port or leaf.remotes)


def _ended(listed: ServerConnections, known: Mapping[str, Server], params: Params) -> Iterator[_Ended]:
    """The connections that ended lately, by link: by the name of the leaf node, or the address of the hub."""
    links: dict[tuple[str, str], list[ClientConnection]] = defaultdict(list)
    settled = _settled_at(known.get(listed.server), params)
    for connection in closed_within(listed, params.integer("window")):
        restart = _settled_at(known.get(connection.name), params) if connection.name != listed.server else None
        if connection.kind != _LEAF or connection.reason in _NEVER_UP or connection.stop is None:
            continue
        if not any(moment and connection.stop <= moment for moment in (settled, restart)):
            links[connection.name or f"{connection.ip}:{connection.port}", connection.account].append(connection)
    for (remote, account), ended in sorted(links.items()):
        yield _Ended(
            remote, account, tuple(sorted(ended, key=lambda connection: (str(connection.stop), connection.cid)))
        )


def _settled_at(server: Server | None, params: Params) -> datetime | None:
    """The end of `start_up` after the server's start: earlier breaks are explained by it. None: start not known."""
    started = started_at(server) if server else None
    return started + timedelta(microseconds=params.integer("start_up") / 1000) if started else None


def _stops(connections: Sequence[ClientConnection]) -> list[datetime]:
    return [connection.stop for connection in connections if connection.stop]


def _leaf_finding(listed: ServerConnections, ended: Sequence[_Ended], params: Params) -> Finding:
    often = params.integer("often")
    unsteady = [link for link in ended if len(link.connections) >= often and link.is_unsteady(listed.at)]
    worst = max(unsteady or ended, key=lambda item: len(item.connections))
    count, last = len(worst.connections), _stops(worst.connections)[-1]
    others = f"; {counted(len(ended) - 1, 'other link')} ended, too" if len(ended) > 1 else ""
    reasons = most_common(connection.reason for connection in worst.connections)
    return failed(
        listed.subject,
        f"its leaf node link with {worst.remote} (account {worst.account or 'unknown'}) ended"
        f" {counted(count, 'time')} within {span(params.integer('window'))}, last at {last:%H:%M:%S} UTC"
        f" ({reasons}){others}: " + (_EFFECT if unsteady else "a restart or a short outage looks like this"),
        listed.observed("connz.closed of leaf nodes", sum(len(link.connections) for link in ended)),
        listed.observed("connz.closed by reason", reasons),
        listed.observed("last stop", last),
        severity=None if unsteady else Severity.INFO,
        measured=(count, often, "count"),
    )


@check("cluster_health.routes_unsteady")
def routes_unsteady(servers: Servers, links: Links, trend: ServerTrend | None, params: Params) -> Iterator[Finding]:
    """Count new connections within `recent`, by the time since when each route or gateway is connected."""
    known = {server.name: server for server in servers.servers}
    for newest in links.servers:
        server = known.get(newest.server)
        readings = links.readings_of(newest.server)
        if server is None or not any(_newest(reading) for reading in readings):
            continue
        up = uptime_ns(server)
        if up is not None and up < params.integer("start_up"):
            yield unknown(server.subject, "it has just started and may still connect", "run again in a minute")
            continue
        if trend is None or len(readings) < 2:
            yield unknown(server.subject, "whether its links last takes two samples", "run with --samples 2 or more")
            continue
        breaks = {link: found for link, found in _breaks(readings, server, known, params).items() if found.count}
        yield _finding(newest, breaks, params) if breaks else passed(server.subject)


class _Connected(msgspec.Struct, frozen=True):
    """The newest connection of one link: with which server (empty: not named), which process of it, and since when."""

    remote: str
    process: str
    start: datetime


class _Breaks(msgspec.Struct, frozen=True):
    """What samples show of one link that does not last: when it was connected again, and how many lack it."""

    made: tuple[datetime, ...]
    missing: int

    @property
    def count(self) -> int:
        """How often it must have ended at least."""
        return len(self.made) + self.missing


def _breaks(
    readings: Sequence[ServerLinks], server: Server, known: Mapping[str, Server], params: Params
) -> dict[str, _Breaks]:
    """By link, new connections that no restart of either server explains, and samples without the link."""
    since = readings[-1].at - timedelta(microseconds=params.integer("recent") / 1000)
    seen, breaks = [_newest(reading) for reading in readings], {}
    for link in sorted({link for item in seen for link in item}):
        those = [(place, item[link]) for place, item in enumerate(seen) if link in item]
        now = those[-1][1]
        # Of the newest process of the remote server only: while it was stopped, it had no link.
        own = [(place, item) for place, item in those if item.process == now.process]
        replaced = len({item.process for _, item in those}) > 1
        starts = sorted(item.start for _, item in own)
        settled = [moment for item in (server, known.get(now.remote)) if (moment := _settled_at(item, params))]
        first = own[0][1].start if replaced else None
        made = [start for start in starts if start > max((since, *settled)) and start != first]
        apart = [*made[:1], *(item for before, item in pairwise(made) if item - before > _POOL_INTERVAL)]
        is_stopped = replaced or (now.remote and now.remote not in known)
        end = own[-1][0] + 1 if is_stopped else len(seen)
        breaks[link] = _Breaks(tuple(apart), end - own[0][0] - len(own))
    return breaks


def _newest(links: ServerLinks) -> dict[str, _Connected]:
    """The newest connection of each link. Routes pinned to an account are left out: they are made with the others."""
    newest: dict[str, _Connected] = {}
    for route in links.route_connections:
        if route.start and not route.account:
            label = f"route to {route.name or route.remote_id}"
            if label not in newest or route.start > newest[label].start:
                newest[label] = _Connected(route.name, route.remote_id, route.start)
    for gateway in links.gateways or ():
        if gateway.start:
            newest[f"gateway to {gateway.cluster}"] = _Connected("", gateway.remote_id, gateway.start)
    return newest


def _finding(newest: ServerLinks, breaks: Mapping[str, _Breaks], params: Params) -> Finding:
    often = params.integer("route_often")
    link, worst = max(breaks.items(), key=lambda item: item[1].count)
    unsteady = worst.count >= often
    others = f"; {counted(len(breaks) - 1, 'other link')} did, too" if len(breaks) > 1 else ""
    what = [
        *([f"was connected again {counted(len(worst.made), 'time')}"] if worst.made else ()),
        *([f"was down in {counted(worst.missing, 'sample')}"] if worst.missing else ()),
    ]
    return failed(
        newest.subject,
        f"its {link} {' and '.join(what)} within {span(params.integer('recent'))}, though neither server was"
        f" restarted{others}: "
        + (_EFFECT if unsteady else "one outage looks like this; more samples show whether it goes on"),
        *(newest.observed(f"start of {name}", start) for name, found in breaks.items() for start in found.made),
        *(newest.observed(f"samples without {name}", found.missing) for name, found in breaks.items() if found.missing),
        severity=None if unsteady else Severity.INFO,
        measured=(worst.count, often, "count"),
        how_to_get="" if unsteady else "run again with --samples 5 --interval 10s",
    )
