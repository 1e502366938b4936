"""Merges many servers' copies of an asset to one record: the leader's reply, with the other copies beside it.

A server that does not lead a consumer reports `num_pending` 0, `num_waiting` 0 and `push_bound` true whatever the
truth is, so the leader's entry is the only one that may be judged (server: consumer.go infoWithSnapAndReply).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.snapshot import Consumer, ConsumerReplica, Stream, StreamReplica
from jsdoctor.parse.peers import sane_cluster
from jsdoctor.parse.replies import ConsumerReply, StreamReply


class StreamCopy(msgspec.Struct, frozen=True):
    """A stream as one server shows it. `server` is empty if the reply does not name the responder (JetStream API).

    `consumers_seen`: that server listed all consumers that it has of the stream.
    """

    server: str
    account: str
    at: datetime
    stream: StreamReply
    consumers_seen: bool = True
    domain: str = ""


ConsumerCopy = tuple[str, datetime, ConsumerReply]
"""A consumer: the server that showed it (empty as above), the time by that server's clock, and its reply."""

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


def _is_leading(cluster: Cluster | None, server: str, placed: Placed) -> bool:
    """The same, knowing the other copies: a server that has just started shows no cluster for what others do place."""
    if cluster is None:
        return all(other is None for _, other in placed)
    return is_from_leader(cluster, server)


def _claims(cluster: Cluster | None, server: str, placed: Placed) -> bool:
    """Whether a server reports to lead, and runs a group to lead.

    One whose Raft node does not run names itself, without peers (server: jetstream_cluster.go clusterInfo).
    """
    return is_from_leader(cluster, server) and (
        _has_peers(cluster) or not any(_has_peers(other) for _, other in placed)
    )


def _is_led_by_silent(placed: Placed) -> bool:
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
    return tuple(_merge_stream(by_key[key], _merge_consumers(key, consumers.get(key, ()))) for key in sorted(by_key))


def _merge_stream(copies: list[StreamCopy], consumers: tuple[Consumer, ...]) -> Stream:
    placed = [(copy.server, copy.stream.cluster) for copy in copies]
    leading = [copy for copy in copies if _is_leading(copy.stream.cluster, copy.server, placed)]
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
        config=reply.config,
        state=reply.state,
        created=reply.created,
        cluster=sane_cluster(reply.cluster),
        mirror=reply.mirror,
        sources=reply.sources,
        has_leader=bool(leading) or _is_led_by_silent(placed),
        from_leader=bool(leading),
        answered_by=best.server or (reply.cluster.leader if reply.cluster else ""),
        at=reply.ts or best.at,
        consumers=consumers,
        consumers_seen=best.consumers_seen,
        replicas=tuple(
            StreamReplica(c.server, c.stream.state, c.at, _claims(c.stream.cluster, c.server, placed))
            for c in sorted(copies, key=lambda c: c.server)
            if c.server
        ),
    )


def _has_peers(cluster: Cluster | None) -> bool:
    return cluster is not None and bool(cluster.replicas)


def _merge_consumers(key: tuple[str, str], copies: Iterable[ConsumerCopy]) -> tuple[Consumer, ...]:
    by_name: dict[str, list[ConsumerCopy]] = defaultdict(list)
    for copy in copies:
        by_name[copy[2].name].append(copy)
    return tuple(merge_consumer(key[0], by_name[name]) for name in sorted(by_name))


def merge_consumer(account: str, copies: list[ConsumerCopy]) -> Consumer:
    """One `Consumer` from the copies of it that servers showed."""
    placed = [(server, reply.cluster) for server, _, reply in copies]
    leading = [copy for copy in copies if _is_leading(copy[2].cluster, copy[0], placed)]
    candidates = leading or copies
    server, at, reply = candidates[0]
    if len(candidates) > 1:
        server, at, reply = max(
            candidates, key=lambda copy: (_has_peers(copy[2].cluster), copy[2].delivered.consumer_seq, copy[0])
        )
    return Consumer(
        account=account,
        stream=reply.stream_name,
        name=reply.name,
        config=reply.config,
        delivered=reply.delivered,
        ack_floor=reply.ack_floor,
        num_ack_pending=reply.num_ack_pending,
        num_redelivered=reply.num_redelivered,
        num_waiting=reply.num_waiting,
        num_pending=reply.num_pending,
        push_bound=reply.push_bound,
        paused=reply.paused,
        pause_remaining_ns=reply.pause_remaining_ns,
        created=reply.created,
        cluster=sane_cluster(reply.cluster),
        has_leader=bool(leading) or _is_led_by_silent(placed),
        from_leader=bool(leading),
        answered_by=server or (reply.cluster.leader if reply.cluster else ""),
        at=reply.ts or at,
        replicas=tuple(
            ConsumerReplica(
                c[0], c[2].delivered, c[2].ack_floor, c[2].num_ack_pending, _claims(c[2].cluster, c[0], placed)
            )
            for c in sorted(copies, key=lambda c: c[0])
            if c[0] and c[2] is not reply
        )
        if len(copies) > 1
        else (),
        priority_groups=reply.priority_groups,
    )
