"""What servers reckon with their clocks: duplicate windows, ages and waits, and the shortest of them in use."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.snapshot import ClusterSnapshot

_ACKNOWLEDGED = ("explicit", "all")


class CountedWindow(msgspec.Struct, frozen=True):
    """One setting whose time the servers of a group count, each by its own clock."""

    length_ns: int
    setting: str
    subject: Subject


def shortest_window(snapshot: ClusterSnapshot, server: str) -> CountedWindow | None:
    """The shortest on any stream or consumer that this server shares with others.

    What lives on one server only is reckoned with one clock, whatever that shows.
    """
    return min(_windows(snapshot, server), key=lambda window: window.length_ns, default=None)


def _windows(snapshot: ClusterSnapshot, server: str) -> Iterator[CountedWindow]:
    for stream in snapshot.led_streams():
        if _is_shared(stream.cluster, server):
            config = stream.config
            for setting, length_ns in (
                ("duplicate_window", config.duplicate_window_ns),
                ("max_age", config.max_age_ns),
            ):
                if length_ns > 0:
                    yield CountedWindow(length_ns, setting, stream.subject)
    for _, consumer in snapshot.led_consumers():
        acknowledged = consumer.config.ack_policy in _ACKNOWLEDGED and consumer.config.ack_wait_ns > 0
        if acknowledged and _is_shared(consumer.cluster, server):
            yield CountedWindow(consumer.config.ack_wait_ns, "ack_wait", consumer.subject)


def _is_shared(cluster: Cluster | None, server: str) -> bool:
    if cluster is None or not cluster.replicas:
        return False
    return cluster.leader == server or any(peer.name == server for peer in cluster.replicas)
