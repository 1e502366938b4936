"""Parts of what servers report that were not read, marked so that the engine knows whether a check needed one.

`varz`, `jetstream` and the like are None where no reply of that endpoint came, and a stream whose consumers were not
listed has none. A rule that needs such a part and finds no fault is not evaluated (`engine.unread`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.gap import Gap
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.partial import hide, mark_unread
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.trend import Trend

_HOW = "run again, with a longer --timeout, or give that reply"
_OF_SERVER: Mapping[str, tuple[str, ...]] = {
    "VARZ": ("varz",),
    "JSZ": ("jetstream", "calls"),
    "HEALTHZ": ("health",),
}
_OF_LINKS: Mapping[str, tuple[str, ...]] = {
    "GATEWAYZ": ("gateways", "gateway_name"),
    "LEAFZ": ("leafs",),
    "ROUTEZ": ("routes", "route_connections", "route_count"),
}
_OF_CONNECTIONS: Mapping[str, tuple[str, ...]] = {
    "the list of open connections (CONNZ)": ("open",),
    "the list of closed connections (CONNZ)": ("closed",),
}
"""The fields that each reply fills. The first is None if it was not read."""


def with_unread(evidence: EvidenceSet) -> EvidenceSet:
    """The evidence, of which checks get what was read of each server and stream."""
    for kind, mark in _KINDS.items():
        if (value := evidence.get(kind)) is not None:
            evidence = evidence.partly_shown(mark(value))
    return evidence


def read_of_server(server: Server, unseen: Sequence[str] = (), how_to_get: str = _HOW) -> Server:
    """The server without what was not read of it, and without `unseen`."""
    marked = mark_unread(server, _unread_fields(server, _OF_SERVER), how_to_get)
    return hide(marked, unseen, server.subject, how_to_get)


def read_of_links(links: ServerLinks, unseen: Sequence[str] = (), how_to_get: str = _HOW) -> ServerLinks:
    """The links without what was not read of them, and without `unseen`."""
    marked = mark_unread(links, _unread_fields(links, _OF_LINKS), how_to_get)
    return hide(marked, unseen, links.subject, how_to_get)


def _of_servers(servers: Servers) -> Servers:
    return Servers(
        tuple(map(read_of_server, servers.servers)),
        servers.complete,
        tuple(tuple(map(read_of_server, sample)) for sample in servers.earlier),
    )


def _of_server_trend(trend: ServerTrend) -> ServerTrend:
    return ServerTrend(tuple(ServerHistory(tuple(map(read_of_server, of.readings))) for of in trend.servers))


def _of_links(links: Links) -> Links:
    earlier = tuple(tuple(map(read_of_links, sample)) for sample in links.earlier)
    return Links(tuple(map(read_of_links, links.servers)), earlier)


def _of_connections(connections: Connections) -> Connections:
    return Connections(
        tuple(mark_unread(listed, _unread_fields(listed, _OF_CONNECTIONS), _HOW) for listed in connections.servers)
    )


def _of_snapshots(snapshots: tuple[ClusterSnapshot, ...]) -> tuple[ClusterSnapshot, ...]:
    """A snapshot that was read whole stays the same object: it keeps what was computed of it."""
    return tuple(
        snapshot
        if all(stream.consumers_seen for stream in snapshot.streams)
        else msgspec.structs.replace(snapshot, streams=tuple(map(read_of_stream, snapshot.streams)))
        for snapshot in snapshots
    )


def read_of_stream(stream: Stream) -> Stream:
    """The stream without its consumers if they were not listed."""
    return stream if stream.consumers_seen else mark_unread(stream, {"consumers": "the list of its consumers"}, _HOW)


_KINDS: Mapping[type[Evidence], Callable[[Any], Evidence]] = {
    Servers: _of_servers,
    ServerTrend: _of_server_trend,
    Links: _of_links,
    Connections: _of_connections,
    SnapshotSeries: lambda series: SnapshotSeries(_of_snapshots(series.snapshots)),
    Trend: lambda trend: Trend(_of_snapshots(trend.snapshots)),
}


def server_gaps(servers: Servers | None, known: Iterable[Gap]) -> Iterator[Gap]:
    """A gap for each server that lacks a reply which another server sent, where no gap names that server yet."""
    named = {gap.subject for gap in known if gap.requested}
    listed = servers.servers if servers is not None else ()
    unread = {server.subject: set(_unread_fields(server, _OF_SERVER).values()) for server in listed}
    of_every_server = set.intersection(*unread.values()) if unread else set()
    for subject, replies in unread.items():
        if (missing := sorted(replies - of_every_server)) and subject not in named:
            yield Gap("server", subject, f"{' and '.join(missing)} was not read", _HOW)


def _unread_fields(value: msgspec.Struct, replies: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The fields of the replies that were not read, each with the name of its reply."""
    unread = {reply: fields for reply, fields in replies.items() if getattr(value, fields[0]) is None}
    return {field: reply for reply, fields in unread.items() for field in fields}
