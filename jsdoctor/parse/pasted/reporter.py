"""Which server sent a `/jsz` reply that does not name it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def reporter_of(reply: Mapping[str, Any]) -> str:
    """The name of the server that sent a reply, from any Raft group that it leads; empty where it leads none.

    A server lists the replicas of a group without itself (`JetStream.clusterInfo`), so a leader that is not among them
    is the sender.
    """
    names = {
        leader
        for group in _groups(reply)
        if isinstance(leader := group.get("leader"), str) and leader and leader not in _replicas(group)
        if "replicas" in group or group is not reply.get("meta_cluster")
    }
    return names.pop() if len(names) == 1 else ""


def _replicas(group: Mapping[str, Any]) -> set[str]:
    listed = group.get("replicas")
    return {str(item.get("name")) for item in listed if isinstance(item, dict)} if isinstance(listed, list) else set()


def _groups(reply: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The meta group, of which only the leader lists the replicas, and the groups of streams and consumers."""
    yield from _group(reply.get("meta_cluster"))
    for account in _dicts(reply.get("account_details")):
        for stream in _dicts(account.get("stream_detail")):
            yield from _group(stream.get("cluster"))
            for consumer in _dicts(stream.get("consumer_detail")):
                yield from _group(consumer.get("cluster"))


def _group(group: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(group, dict):
        yield group


def _dicts(items: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))
