"""Finds streams whose consumers cannot have changed since the last sample, so that they need no new request.

A consumer with nothing to deliver and nothing to acknowledge does not change while its stream stores no message. A
plain account requests consumers stream by stream, so in a mostly idle deployment this halves the requests of a run.
Consumers that any rule could report are never idle: num pending, ack pending or redelivered is not 0, it is paused, it
has no leader, or a replica is behind.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class _ConfigName(msgspec.Struct, frozen=True):
    name: str = ""


class _Peer(msgspec.Struct, frozen=True):
    current: bool = False
    offline: bool = False
    lag: int = 0


class _LeaderState(msgspec.Struct, frozen=True):
    leader: str = ""
    leader_since: str = ""
    replicas: tuple[_Peer, ...] | None = None

    @property
    def is_sound(self) -> bool:
        """Whether it has a leader, and every replica keeps up."""
        return bool(self.leader) and all(p.current and not p.offline and not p.lag for p in self.replicas or ())


class _PositionState(msgspec.Struct, frozen=True):
    messages: int = 0
    first_seq: int = 0
    last_seq: int = 0
    num_deleted: int = 0
    consumer_count: int = 0


class ListedStream(msgspec.Struct, frozen=True):
    """The fields of STREAM.LIST that show whether the consumers of a stream can have changed."""

    config: _ConfigName = _ConfigName()
    state: _PositionState = _PositionState()
    created: str = ""
    cluster: _LeaderState | None = None

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Equal in two samples: nothing was stored, deleted, expired or acknowledged away, and the leader stayed."""
        leader = (self.cluster.leader, self.cluster.leader_since) if self.cluster else None
        return self.created, self.state, leader


class _Position(msgspec.Struct, frozen=True):
    stream_seq: int = 0


class ListedConsumer(msgspec.Struct, frozen=True):
    """The fields of CONSUMER.LIST that show whether a consumer is idle."""

    name: str = ""
    num_pending: int = 0
    num_ack_pending: int = 0
    num_redelivered: int = 0
    paused: bool = False
    delivered: _Position = _Position()
    cluster: _LeaderState | None = None

    def is_at_rest(self, last_seq: int) -> bool:
        """Whether it can only change when its stream, which ends at `last_seq`, does."""
        busy = self.num_pending or self.num_ack_pending or self.num_redelivered or self.paused
        ahead = self.delivered.stream_seq > last_seq
        return not busy and not ahead and (self.cluster is None or self.cluster.is_sound)


class Rest:
    """Keeps the last state of each stream and of its consumers, from one sample to the next."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[object, ...]] = {}
        self._consumers: dict[str, list[ListedConsumer]] = {}

    def of(self, streams: Iterable[ListedStream]) -> set[str]:
        """The streams whose consumers are idle; to be called once per sample."""
        now = {stream.config.name: stream for stream in streams}
        idle = {name for name, stream in now.items() if self._is_at_rest(name, stream)}
        self._streams = {name: stream.fingerprint for name, stream in now.items()}
        self._consumers = {name: self._consumers[name] for name in idle if name in self._consumers}
        return idle

    def _is_at_rest(self, name: str, stream: ListedStream) -> bool:
        consumers = self._consumers.get(name, ())
        return (
            self._streams.get(name) == stream.fingerprint
            and len(consumers) == stream.state.consumer_count
            and all(consumer.is_at_rest(stream.state.last_seq) for consumer in consumers)
        )

    def seen(self, stream: str, consumers: list[ListedConsumer]) -> None:
        """Record the consumers of a stream in this sample."""
        self._consumers[stream] = consumers
