"""Copies that differ from their leader's in every reading, by more than what can be under way between servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from jsdoctor.model.jetstream import Cluster, StreamState
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, StreamHistory

_SHRINKING = 0.9

_FIELDS: tuple[tuple[str, Callable[[StreamState], int]], ...] = (
    ("messages", lambda state: state.messages),
    ("last_seq", lambda state: state.last_seq),
    ("first_seq", lambda state: state.first_seq if state.messages else state.last_seq + 1),
)
"""Compared values. An empty stream begins after its end; one that never had a message has 0 on some copies."""


class Divergence(msgspec.Struct, frozen=True):
    """One value of one server's copy against the leader's, in the newest reading.

    `is_current`: the leader calls that copy up to date.
    """

    server: str
    field: str
    ours: int
    leaders: int
    is_current: bool = True

    @property
    def is_ahead(self) -> bool:
        """Whether the copy ends further than the leader's: no replication that is late explains that."""
        return self.field == "last_seq" and self.ours > self.leaders

    @property
    def size(self) -> int:
        """How far the two are apart."""
        return abs(self.ours - self.leaders)


def of_stream(history: StreamHistory) -> Iterator[Divergence] | None:
    """The lasting differences of each copy; None when no other copy was seen in all readings."""
    readings, last = history.readings, history.last
    if last.replicas and all(_is_equal(replica.state, last.state) for replica in last.replicas):
        return iter(()) if len(last.replicas) > 1 else None
    copies = [{r.server: r.state for r in reading.replicas if not r.is_leader} for reading in readings]
    servers = set.intersection(*(set(copy) for copy in copies)) - {history.last.answered_by}
    return _of_servers(history, copies, servers) if servers else None


def _of_servers(
    history: StreamHistory, copies: Sequence[dict[str, StreamState]], servers: set[str]
) -> Iterator[Divergence]:
    leading = [reading.state for reading in history.readings]
    own_way = sum(_change(leading, value) for _, value in _FIELDS)
    for server in sorted(servers):
        lag = _lag(history.last.cluster, server)
        states = [copy[server] for copy in copies]
        under_way = (lag or 0) + own_way + sum(_change(states, value) for _, value in _FIELDS)
        for name, value in _FIELDS:
            if _lasts([value(a) - value(b) for a, b in zip(states, leading, strict=True)], under_way):
                divergence = Divergence(server, name, value(states[-1]), value(leading[-1]), lag is not None)
                if divergence.is_current or divergence.is_ahead:
                    yield divergence


def of_consumer(history: ConsumerHistory) -> Iterator[Divergence] | None:
    """The same for the number of deliveries, the only figure that every copy of a consumer shares.

    After a purge only the leader moves its floor and its place in the stream (measured on 2.10 to 2.15).
    """
    readings, now = history.readings, history.last.delivered.consumer_seq
    if history.last.replicas and all(copy.delivered.consumer_seq == now for copy in history.last.replicas):
        return iter(())
    copies = [{r.server: r.delivered.consumer_seq for r in reading.replicas} for reading in readings]
    servers = set.intersection(*(set(copy) for copy in copies)) - {history.last.answered_by}
    return _of_deliveries(readings, copies, servers) if servers else None


def _of_deliveries(
    readings: Sequence[Consumer], copies: Sequence[dict[str, int]], servers: set[str]
) -> Iterator[Divergence]:
    leading = [reading.delivered.consumer_seq for reading in readings]
    for server in sorted(servers):
        under_way = _lag(readings[-1].cluster, server)
        if under_way is None:
            continue
        counts = [copy[server] for copy in copies]
        under_way += abs(leading[-1] - leading[0]) + abs(counts[-1] - counts[0])
        if _lasts([a - b for a, b in zip(counts, leading, strict=True)], under_way):
            yield Divergence(server, "delivered.consumer_seq", counts[-1], leading[-1])


def _is_equal(first: StreamState, second: StreamState) -> bool:
    return (first.messages, first.first_seq, first.last_seq) == (second.messages, second.first_seq, second.last_seq)


def _change(states: Sequence[StreamState], value: Callable[[StreamState], int]) -> int:
    return abs(value(states[-1]) - value(states[0]))


def _lag(cluster: Cluster | None, server: str) -> int | None:
    """How much the leader has yet to send, by its own report; None if it reports the copy as missing or not current.

    JSD703 and JSD704 judge what those lack: replication has noticed it. They do not judge what such a copy has more.
    """
    peer = next((p for p in cluster.replicas if p.name == server), None) if cluster else None
    return None if peer is None or peer.offline or not peer.current else peer.lag


def _lasts(differences: Sequence[int], under_way: int) -> bool:
    """Whether a difference has one sign in all readings, exceeds what is under way in each, and does not shrink."""
    smallest = min(map(abs, differences))
    same_sign = min(differences) > 0 or max(differences) < 0
    return same_sign and smallest > under_way and abs(differences[-1]) > _SHRINKING * abs(differences[0])


def same_leader(readings: Sequence[Stream] | Sequence[Consumer]) -> bool:
    """Whether one server responded as the leader in all readings."""
    return len({reading.answered_by for reading in readings}) == 1
