"""How streams and consumers changed between snapshots: evidence for every rule that judges a rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Self

import msgspec

from jsdoctor.model.evidence import (
    GAPS_OF_ASSETS,
    NO_ASSETS,
    CollectionFacts,
    Evidence,
    EvidenceSource,
    too_few_samples,
)
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream, same_incarnation

ConsumerKey = tuple[str, str, str]
"""Account, stream and name."""


class StreamHistory(msgspec.Struct, frozen=True):
    """Two or more readings of one stream from its leader, oldest first, all of the same incarnation (`created`)."""

    readings: tuple[Stream, ...]

    @property
    def first(self) -> Stream:
        """The oldest reading."""
        return self.readings[0]

    @property
    def last(self) -> Stream:
        """The newest reading."""
        return self.readings[-1]

    @property
    def elapsed_s(self) -> float:
        """Seconds between first and last reading, by the clocks of the servers that sent them; never zero or below."""
        return max((self.last.at - self.first.at).total_seconds(), 1e-3)


class ConsumerHistory(msgspec.Struct, frozen=True):
    """Two or more readings of one consumer from its leader, with its stream at the same times, oldest first."""

    readings: tuple[Consumer, ...]
    streams: tuple[Stream, ...]

    @property
    def first(self) -> Consumer:
        """The oldest reading."""
        return self.readings[0]

    @property
    def last(self) -> Consumer:
        """The newest reading."""
        return self.readings[-1]

    @property
    def stream(self) -> Stream:
        """The stream at the newest reading."""
        return self.streams[-1]

    @property
    def elapsed_s(self) -> float:
        """Seconds between first and last reading, by the clocks of the servers that sent them; never zero or below."""
        return max((self.last.at - self.first.at).total_seconds(), 1e-3)


class Trend(Evidence, frozen=True, dict=True):
    """Two or more snapshots, oldest first. An asset counts if it has a leader in all of them and was not recreated.

    Each rule on rates iterates over all histories, so they are built once.
    """

    source = EvidenceSource.TREND
    parts = ("assets", "consumers")
    repeated = True
    said_by = ("samples", "assets")
    of_deployment = True
    left_out_by = GAPS_OF_ASSETS
    single = SnapshotSeries

    snapshots: tuple[ClusterSnapshot, ...]

    def streams(self) -> Iterator[StreamHistory]:
        """Every stream that existed and had a leader in all snapshots."""
        return iter(self._stream_histories)

    def consumers(self) -> Iterator[ConsumerHistory]:
        """Every consumer that existed and had a leader in all snapshots."""
        return iter(self._consumer_histories)

    @cached_property
    def by_consumer(self) -> Mapping[ConsumerKey, ConsumerHistory]:
        """The history of every consumer that has one."""
        return {(h.last.account, h.last.stream, h.last.name): h for h in self._consumer_histories}

    @cached_property
    def _stream_histories(self) -> tuple[StreamHistory, ...]:
        return tuple(self._trace_streams())

    @cached_property
    def _consumer_histories(self) -> tuple[ConsumerHistory, ...]:
        return tuple(self._trace_consumers())

    def _trace_streams(self) -> Iterator[StreamHistory]:
        earlier = [snapshot.led_by_key for snapshot in self.snapshots[:-1]]
        for stream in self.snapshots[-1].led_streams():
            readings = [index.get(stream.key) for index in earlier]
            same = [r for r in readings if r is not None and same_incarnation(r, stream)]
            if len(same) == len(earlier):
                yield StreamHistory((*same, stream))

    def _trace_consumers(self) -> Iterator[ConsumerHistory]:
        earlier = [_consumers_by_key(snapshot) for snapshot in self.snapshots[:-1]]
        for stream, consumer in self.snapshots[-1].led_consumers():
            result = [index.get((consumer.account, consumer.stream, consumer.name)) for index in earlier]
            same = [
                pair
                for pair in result
                if pair and same_incarnation(pair[1], consumer) and same_incarnation(pair[0], stream)
            ]
            if len(same) == len(earlier):
                yield ConsumerHistory((*(pair[1] for pair in same), consumer), (*(pair[0] for pair in same), stream))

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """No streams, or too few samples of them."""
        return too_few_samples(facts) if facts.snapshots else NO_ASSETS

    def without(self, subject: Subject) -> Self:
        """The same without that stream or consumer."""
        return msgspec.structs.replace(self, snapshots=tuple(each.without(subject) for each in self.snapshots))


def _consumers_by_key(snapshot: ClusterSnapshot) -> dict[ConsumerKey, tuple[Stream, Consumer]]:
    return {(c.account, c.stream, c.name): (stream, c) for stream, c in snapshot.led_consumers()}
