"""Raft groups as their leaders see them: which peers are heard, and what is left of the quorum."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jsdoctor.model.jetstream import Peer
from jsdoctor.model.wording import span

_SECOND_NS = 1_000_000_000

UNKNOWN_NAME = "Server name unknown"
"""How the name of a peer starts that the answering server has not heard of since it started (jetstream_cluster.go)."""


def quorum(size: int) -> int:
    """How many members of a group of `size` must agree (server: raft.go)."""
    return size // 2 + 1


def silence(duration_ns: int) -> str:
    """For how long nothing was heard, to the second: the servers' figure is no more exact than their heartbeat."""
    return span(duration_ns // _SECOND_NS * _SECOND_NS if duration_ns > _SECOND_NS else duration_ns)


def label(peer: Peer) -> str:
    """A peer's name, or its id when the server that told of it does not know the name."""
    return peer.peer if peer.name.startswith(UNKNOWN_NAME) else peer.name


def is_heard(peer: Peer, silence_ns: int) -> bool:
    """Whether the leader heard this peer lately. `current` says yes for ten seconds after a peer died."""
    return not peer.offline and 0 < peer.active_ns < silence_ns


def is_late(peer: Peer, silence_ns: int) -> bool:
    """Whether a peer that still counts as heard has missed several answers in a row: they come every second."""
    return is_heard(peer, silence_ns) and peer.active_ns >= silence_ns // 2


def silent_peers(readings: Sequence[Collection[Peer]], silence_ns: int) -> tuple[Peer, ...]:
    """Peers of the newest reading that no reading heard. `readings` are a leader's peers in each sample, oldest first.

    A leader starts with "never seen" for all: in a single reading that proves nothing. Peers answer every second.
    """
    heard = {label(peer) for peers in readings for peer in peers if is_heard(peer, silence_ns)}
    return tuple(
        peer
        for peer in readings[-1]
        if label(peer) not in heard and (peer.offline or peer.active_ns > 0 or len(readings) > 1)
    )
