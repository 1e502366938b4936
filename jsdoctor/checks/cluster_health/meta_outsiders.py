"""Servers that run JetStream and that their meta leader does not count as members, and what makes them members."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.checks.cluster_health.raft import UNKNOWN_NAME, meta_groups
from jsdoctor.model.release import release
from jsdoctor.model.server import Server, Servers

_READMITTED_NS = 360_000_000_000
"""A leader ignores a removed server for five minutes. The sixth is for its next sign of life."""


def outsiders(servers: Servers) -> dict[str, Server]:
    """By name, servers that follow a meta leader which does not know them, in every sample; each with that leader."""
    leaders: dict[str, Server] = {}
    for group in meta_groups(servers):
        samples = [_of_sample(sample) for sample in group.samples]
        leaders |= {name: leader for name, leader in samples[-1].items() if all(name in sample for sample in samples)}
    return leaders


def _of_sample(sample: Sequence[Server]) -> dict[str, Server]:
    leaders = {server.name: server for server in sample if server.meta and server.meta.leader == server.name}
    return {
        server.name: leader
        for server in sample
        if server.meta and (leader := leaders.get(server.meta.leader)) and not server.shares_its_name
        if server is not leader and not _knows(leader, server.name)
    }


def _knows(leader: Server, name: str) -> bool:
    """A leader that was just restarted does not know the names of all its peers: any of them may be this one."""
    peers = leader.meta.replicas if leader.meta else ()
    return any(peer.name == name or peer.name.startswith(UNKNOWN_NAME) for peer in peers)


def readmission(leader: Server, uptime_ns: int) -> str:
    """What makes an outsider a member, by the version of its leader and its own uptime, as a sentence.

    A server that was removed was started again after that, so its uptime is less than the time since. Source:
    server: raft.go trackPeer, peerRemoveTimeout.
    """
    version = release(leader.version)
    if version and not (version >= (2, 11, 2) or (2, 10, 28) <= version < (2, 11)):
        return (
            "If it was left out when the cluster was first started, restart it. If it was removed, upgrade the other"
            " servers or restart them, one at a time: a leader older than 2.10.28 or 2.11.2 does not add it again"
        )
    if version and uptime_ns < _READMITTED_NS:
        return (
            "If it was removed, the leader adds it again within six minutes of the removal. If it was left out when"
            " the cluster was first started, restart it"
        )
    return "It was removed, or left out when the cluster was first started; restart it"
