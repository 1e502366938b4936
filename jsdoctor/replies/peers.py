"""Peers of a Raft group: their ids, and their figures freed of a quirk of old servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from jsdoctor.model.jetstream import Cluster, Peer
from jsdoctor.model.server import MetaGroup

# 2.10 computes `active` of a peer that was never seen from the zero time: it prints the wall clock in nanoseconds.
_WALL_CLOCK_NS = 1_000_000_000_000_000_000  # 31 years of silence, or September 2001

UNKNOWN_PEER = "Server name unknown"
"""How the name of a peer starts that a restarted server has had no contact with (server: jetstream_cluster.go)."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def peer_id(server_name: str) -> str:
    """The id of a server in Raft groups: it depends on its name alone (server: auth.go getHashSize, base 62)."""
    from hashlib import sha256

    return "".join(_DIGITS[byte % len(_DIGITS)] for byte in sha256(server_name.encode()).digest()[:8])


def sane_cluster(cluster: Cluster | None) -> Cluster | None:
    """The cluster with `active_ns` 0, never seen, where a server printed its wall clock."""
    if cluster is None or not cluster.replicas or all(peer.active_ns < _WALL_CLOCK_NS for peer in cluster.replicas):
        return cluster
    return msgspec.structs.replace(cluster, replicas=_sane(cluster.replicas))


def sane_meta(meta: MetaGroup | None) -> MetaGroup | None:
    """The same for the meta group."""
    if meta is None or all(peer.active_ns < _WALL_CLOCK_NS for peer in meta.replicas):
        return meta
    return msgspec.structs.replace(meta, replicas=_sane(meta.replicas))


def _sane(peers: tuple[Peer, ...]) -> tuple[Peer, ...]:
    return tuple(
        msgspec.structs.replace(peer, active_ns=0) if peer.active_ns >= _WALL_CLOCK_NS else peer for peer in peers
    )


Group = TypeVar("Group", Cluster, MetaGroup)


def renamed(group: Group | None, names: Mapping[str, str]) -> Group | None:
    """The cluster or the meta group with its leader and peers by the names that `names` gives them."""
    if group is None or not names:
        return group
    peers = tuple(msgspec.structs.replace(peer, name=names.get(peer.name, peer.name)) for peer in group.replicas)
    return msgspec.structs.replace(group, leader=names.get(group.leader, group.leader), replicas=peers)
