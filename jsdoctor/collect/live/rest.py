"""Finds streams whose consumers cannot have changed since the last sample, so that they need no new request.

A consumer with nothing to deliver and nothing to acknowledge does not change while its stream stores no message. A
plain account requests consumers stream by stream, so in a mostly idle deployment this halves the requests of a run.
Consumers that any rule could report are never idle: num pending, ack pending or redelivered is not 0, it is paused, it
has no leader, or a replica is behind.
"""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.jetstream import Cluster
from jsdoctor.parse.replies import ConsumerReply, StreamReply


class Rest:
    """Keeps the last state of each stream and of its consumers, from one sample to the next."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[object, ...]] = {}
        self._consumers: dict[str, list[ConsumerReply]] = {}

    def of(self, streams: Iterable[StreamReply]) -> set[str]:
        """The streams whose consumers are idle; to be called once per sample."""
        now = {stream.config.name: stream for stream in streams}
        idle = {name for name, stream in now.items() if self._is_at_rest(name, stream)}
        self._streams = {name: _fingerprint(stream) for name, stream in now.items()}
        self._consumers = {name: self._consumers[name] for name in idle if name in self._consumers}
        return idle

    def _is_at_rest(self, name: str, stream: StreamReply) -> bool:
        consumers = self._consumers.get(name, ())
        return (
            self._streams.get(name) == _fingerprint(stream)
            and len(consumers) == stream.state.consumer_count
            and all(_is_idle(consumer, stream.state.last_seq) for consumer in consumers)
        )

    def seen(self, stream: str, consumers: list[ConsumerReply]) -> None:
        """Record the consumers of a stream in this sample."""
        self._consumers[stream] = consumers


def _fingerprint(stream: StreamReply) -> tuple[object, ...]:
    """Equal in two samples: nothing was stored, deleted, expired or acknowledged away, and the leader stayed."""
    state, cluster = stream.state, stream.cluster
    leader = (cluster.leader, cluster.leader_since) if cluster else None
    held = (state.messages, state.first_seq, state.last_seq, state.num_deleted, state.consumer_count)
    return stream.created, held, leader


def _is_idle(consumer: ConsumerReply, last_seq: int) -> bool:
    """Whether it can only change when its stream, which ends at `last_seq`, does."""
    busy = consumer.num_pending or consumer.num_ack_pending or consumer.num_redelivered or consumer.paused
    ahead = consumer.delivered.stream_seq > last_seq
    return not busy and not ahead and (consumer.cluster is None or _is_sound(consumer.cluster))


def _is_sound(cluster: Cluster) -> bool:
    """Whether it has a leader, and every replica keeps up."""
    return bool(cluster.leader) and all(p.current and not p.offline and not p.lag for p in cluster.replicas)
