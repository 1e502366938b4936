"""Merges many servers' copies of an asset to one record: the leader's reply, with the other copies beside it.

A server that does not lead a consumer reports `num_pending` 0, `num_waiting` 0 and `push_bound` true whatever the
truth is, so the leader's entry is the only one that may be judged (server: consumer.go infoWithSnapAndReply).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.snapshot import Consumer, ConsumerReplica, Stream, StreamReplica, reported
from jsdoctor.replies.decoding import ConsumerReply, StreamReply
from jsdoctor.replies.peers import sane_cluster


class StreamCopy(msgspec.Struct, frozen=True):
    """A stream as one server shows it. `server` is empty if the reply does not name the responder (JetStream API).

    `consumers_seen`: that server listed all consumers that it has of the stream. `has_meta_leader`: it named one in the
    same reply, or is in no cluster.
    """

    server: str
    account: str
    at: datetime
    stream: StreamReply
    consumers_seen: bool = True
    domain: str = ""
    has_meta_leader: bool = True


class ConsumerCopy(NamedTuple):
    """A consumer: the server that showed it (empty as above), the time by that server's clock, and its reply."""

    server: str
    at: datetime
    reply: ConsumerReply


ConsumerCopies = Mapping[tuple[str, str], list[ConsumerCopy]]
"""Consumers by account and stream."""


Placed = Collection[tuple[str, Cluster | None]]
"""The servers that showed an asset, and the placement that each reports."""


def is_from_leader(cluster: Cluster | None, server: str) -> bool:
    """Whether `server` responded for an asset that it leads. Without a cluster there is only one server to lead."""
    if cluster is None:
        return True
    if not server:
        return bool(cluster.leader)
    return cluster.leader == server


class _Copies(msgspec.Struct, frozen=True):
    """The copies of an asset, to judge which is its leader's. `replicas`: the fewest that a copy is configured with.

    `cut_off`: servers without a meta leader. One that is alone after a stop of its cluster lists what it stored before
    it knows what is assigned to it: from 2.12 on it runs none of it until it has a route (server: raft.go run), names
    itself as the leader of streams, and shows no cluster for consumers. Scaling looks the same for a moment, but needs
    a meta leader.
    """

    placed: Placed
    replicas: int
    cut_off: frozenset[str] = frozenset()

    def is_leading(self, cluster: Cluster | None, server: str) -> bool:
        """Whether the server leads. One that has just started shows no cluster for an asset that others show in one."""
        if self._is_unassigned(cluster, server):
            return False
        if cluster is None:
            return all(other is None for _, other in self.placed)
        return is_from_leader(cluster, server)

    def claims(self, cluster: Cluster | None, server: str) -> bool:
        """Whether a server reports to lead, and runs a group to lead.

        One whose Raft node does not run names itself, without peers (server: jetstream_cluster.go clusterInfo).
        """
        return (
            is_from_leader(cluster, server)
            and not self._is_unassigned(cluster, server)
            and (_has_peers(cluster) or not any(_has_peers(other) for _, other in self.placed))
        )

    def _is_unassigned(self, cluster: Cluster | None, server: str) -> bool:
        if server not in self.cut_off:
            return False
        return cluster is None or (self.replicas > 1 and cluster.shows_no_group)


def _leader_is_silent(placed: Placed) -> bool:
    """Whether a named leader did not respond. A server that responds without naming itself leader does not lead.

    For a stream halted by a write error, followers name the old leader for ever (server: stream.go setWriteErr).
    """
    answered = {server for server, _ in placed}
    return any(cluster.leader not in answered for _, cluster in placed if cluster and cluster.leader)


def merge_streams(copies: Iterable[StreamCopy], consumers: ConsumerCopies) -> tuple[Stream, ...]:
    """One `Stream` per account and name, sorted by them."""
    by_key: dict[tuple[str, str], list[StreamCopy]] = defaultdict(list)
    for copy in copies:
        by_key[copy.account, copy.stream.config.name].append(copy)
    return tuple(
        _merge_stream(by_key[key], _merge_consumers(by_key[key], consumers.get(key, ()))) for key in sorted(by_key)
    )


def _merge_stream(copies: list[StreamCopy], consumers: tuple[Consumer, ...]) -> Stream:
    placed = [(copy.server, copy.stream.cluster) for copy in copies]
    # While a stream is scaled, its copies show different numbers of replicas.
    all_copies = _Copies(placed, min(copy.stream.config.num_replicas for copy in copies), _cut_off(copies))
    leading = [copy for copy in copies if all_copies.is_leading(copy.stream.cluster, copy.server)]
    # A server whose Raft node does not run names itself leader, without peers (jetstream_cluster.go clusterInfo).
    # For some seconds after a partition, two servers may act as leader: the one with more data is newer.
    best = max(
        leading or copies, key=lambda copy: (_has_peers(copy.stream.cluster), copy.stream.state.last_seq, copy.server)
    )
    reply = best.stream
    return Stream(
        account=best.account,
        domain=best.domain,
        name=reply.config.name,
        **(reported(reply) | {"cluster": sane_cluster(reply.cluster)}),
        has_leader=bool(leading) or _leader_is_silent(placed),
        from_leader=bool(leading),
        answered_by=best.server or (reply.cluster.leader if reply.cluster else ""),
        at=reply.ts or best.at,
        consumers=consumers,
        consumers_seen=best.consumers_seen,
        replicas=tuple(
            StreamReplica(
                c.server, c.stream.state, c.at, all_copies.claims(c.stream.cluster, c.server), unseen=c.stream.unseen
            )
            for c in sorted(copies, key=lambda c: c.server)
            if c.server
        ),
    )


def _cut_off(copies: Iterable[StreamCopy]) -> frozenset[str]:
    """The servers that are in a cluster and name no meta leader."""
    return frozenset(
        copy.server
        for copy in copies
        if not copy.has_meta_leader and copy.stream.cluster is not None and copy.stream.cluster.name
    )


def _has_peers(cluster: Cluster | None) -> bool:
    return cluster is not None and bool(cluster.replicas)


def _merge_consumers(streams: Sequence[StreamCopy], copies: Iterable[ConsumerCopy]) -> tuple[Consumer, ...]:
    by_name: dict[str, list[ConsumerCopy]] = defaultdict(list)
    for copy in copies:
        by_name[copy.reply.name].append(copy)
    cut_off = _cut_off(streams)
    return tuple(merge_consumer(streams[0].account, by_name[name], streams, cut_off) for name in sorted(by_name))


def merge_consumer(
    account: str, copies: list[ConsumerCopy], streams: Iterable[StreamCopy] = (), cut_off: frozenset[str] = frozenset()
) -> Consumer:
    """One `Consumer` from the copies of it that servers showed; `streams`: the copies of its stream."""
    placed = [(server, reply.cluster) for server, _, reply in copies]
    replicas = min((r.config.replicas_on(s.stream.config) for _, _, r in copies for s in streams), default=0)
    all_copies = _Copies(placed, replicas, cut_off)
    leading = [copy for copy in copies if all_copies.is_leading(copy.reply.cluster, copy.server)]
    candidates = leading or copies
    server, at, reply = candidates[0]
    if len(candidates) > 1:
        server, at, reply = max(
            candidates,
            key=lambda copy: (_has_peers(copy.reply.cluster), copy.reply.delivered.consumer_seq, copy.server),
        )
    return Consumer(
        account=account,
        stream=reply.stream_name,
        name=reply.name,
        **(reported(reply) | {"cluster": sane_cluster(reply.cluster)}),
        has_leader=bool(leading) or _leader_is_silent(placed),
        from_leader=bool(leading),
        answered_by=server or (reply.cluster.leader if reply.cluster else ""),
        at=reply.ts or at,
        replicas=tuple(
            ConsumerReplica(
                *(copy.server, copy.reply.delivered, copy.reply.ack_floor, copy.reply.num_ack_pending),
                all_copies.claims(copy.reply.cluster, copy.server),
                unseen=copy.reply.unseen,
            )
            for copy in sorted(copies, key=lambda copy: copy.server)
            if copy.server and copy.reply is not reply
        )
        if len(copies) > 1
        else (),
    )
