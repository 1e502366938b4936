"""Raft groups as their leaders report them: which peers are in contact, and what is left of the quorum."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jsdoctor.model.jetstream import Peer

_SECOND_NS = 1_000_000_000

UNKNOWN_NAME = "Server name unknown"
"""Prefix of the reported name of a peer that the server has had no contact with since it started.

Server: jetstream_cluster.go.
"""


def quorum(size: int) -> int:
    """How many members of a group of `size` must agree (server: raft.go)."""
    return size // 2 + 1


def label(peer: Peer) -> str:
    """A peer's name, or its id if the server that reported it does not know the name."""
    return peer.peer if peer.name.startswith(UNKNOWN_NAME) else peer.name


def is_heard(peer: Peer, silence_ns: int) -> bool:
    """Whether the leader had contact with this peer lately. `current` stays true for ten seconds after a peer died."""
    return not peer.offline and 0 < peer.active_ns < silence_ns


def is_late(peer: Peer, silence_ns: int) -> bool:
    """Whether a peer that still counts as reachable missed several responses in a row: they arrive every second."""
    return is_heard(peer, silence_ns) and peer.active_ns >= silence_ns // 2


def silent_peers(readings: Sequence[Collection[Peer]], silence_ns: int, is_settled: bool = True) -> tuple[Peer, ...]:
    """Peers of the newest reading without contact in any reading; `readings` are a leader's peers, oldest first.

    A new leader reports "never seen" for all peers, and so does any leader for a peer that is just being added: such a
    peer counts if several readings list it, each of them, of a group that `is_settled`. Peers respond every second.
    """
    labels = [{label(peer) for peer in peers} for peers in readings]
    received = {label(peer) for peers in readings for peer in peers if is_heard(peer, silence_ns)}
    lasting = set.intersection(*labels) if is_settled and len(labels) > 1 else set()
    return tuple(
        peer
        for peer in readings[-1]
        if label(peer) not in received and (peer.offline or peer.active_ns > 0 or label(peer) in lasting)
    )
