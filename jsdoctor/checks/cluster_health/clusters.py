"""The servers of each cluster side by side: what should be alike among them, and whether a roll-out is under way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.server import Server, Servers


class Members(msgspec.Struct, frozen=True):
    """The servers of one cluster that responded, by name. `subject` has the cluster's name if there are several."""

    name: str
    subject: Subject
    servers: tuple[Server, ...]


def clusters(servers: Servers) -> Iterator[Members]:
    """Every named cluster. Servers outside of any cluster, such as single ones and leaf nodes, are in none of them."""
    servers_by_cluster: dict[str, list[Server]] = defaultdict(list)
    for server in servers.servers:
        if name := cluster_of(server):
            servers_by_cluster[name].append(server)
    for name in sorted(servers_by_cluster):
        subject = CLUSTER if len(servers_by_cluster) == 1 else Subject(kind="cluster", name=name)
        yield Members(name, subject, tuple(servers_by_cluster[name]))


def cluster_of(server: Server) -> str:
    """The name of a server's cluster; empty outside of any."""
    return server.cluster or (server.varz.cluster.name if server.varz and server.varz.cluster else "")


def in_roll_out(servers: Sequence[Server], within_ns: int, apart_ns: int) -> bool:
    """Whether a rollout is in progress: some servers were started or reloaded within `within_ns`, others were not.

    If all are younger, the oldest must be at least `apart_ns` older than the youngest: servers that start together are
    no rollout.
    """
    ages = [age for server in servers if (age := _settled_ns(server)) is not None]
    return (
        0 < len(ages) == len(servers)
        and min(ages) < within_ns
        and (max(ages) >= within_ns or max(ages) - min(ages) >= apart_ns)
    )


def _settled_ns(server: Server) -> int | None:
    """Time since a server was started or took a new configuration, by its own clock, in ns; None if unknown."""
    varz = server.varz
    if varz is None or varz.start is None:
        return None
    since = max(varz.start, varz.config_load_time or varz.start)
    return int(((varz.now or server.at) - since).total_seconds() * 1e9)


def parted(values: dict[str, list[str]]) -> str:
    """Values and the servers that have them: `n1, n2: 1,048,576; n3: 8,388,608`. Keys are values, items are servers."""
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
    return "; ".join(f"{', '.join(sorted(names))}: {value or 'none'}" for value, names in ordered)
