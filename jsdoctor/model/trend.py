"""How streams and consumers changed between snapshots: evidence for every rule that judges a rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, Self, TypeVar

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
from jsdoctor.model.server import Server
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream, same_incarnation

ConsumerKey = tuple[str, str, str]
"""Account, stream and name."""


Reading = TypeVar("Reading", Stream, Consumer, Server)


class Readings(msgspec.Struct, Generic[Reading], frozen=True):
    """Two or more readings of one subject, oldest first."""

    readings: tuple[Reading, ...]

    @property
    def first(self) -> Reading:
        """The oldest reading."""
        return self.readings[0]

    @property
    def last(self) -> Reading:
        """The newest reading."""
        return self.readings[-1]

    @property
    def elapsed_s(self) -> float:
        """Seconds between first and last reading, by the clocks of the servers that sent them; never zero or below."""
        return max((self.last.at - self.first.at).total_seconds(), 1e-3)


class StreamHistory(Readings[Stream], frozen=True):
    """Readings of one stream from its leader, all of the same incarnation (`created`)."""


class ConsumerHistory(Readings[Consumer], frozen=True):
    """Readings of one consumer from its leader, with its stream at the same times."""

    streams: tuple[Stream, ...]

    @property
    def stream(self) -> Stream:
        """The stream at the newest reading."""
        return self.streams[-1]


def stream_histories(snapshots: Sequence[ClusterSnapshot], least: int) -> Iterator[StreamHistory]:
    """Every stream that is led in the last snapshot and was in `least` of the earlier ones."""
    earlier = [snapshot.led_by_key for snapshot in snapshots[:-1]]
    for stream in snapshots[-1].led_streams():
        readings = [index.get(stream.key) for index in earlier]
        same = [reading for reading in readings if reading is not None and same_incarnation(reading, stream)]
        if len(same) >= least:
            yield StreamHistory((*same, stream))


def consumer_histories(snapshots: Sequence[ClusterSnapshot], least: int) -> Iterator[ConsumerHistory]:
    """Every consumer that is led in the last snapshot and was in `least` of the earlier ones."""
    earlier = [
        {(c.account, c.stream, c.name): (stream, c) for stream, c in snapshot.led_consumers()}
        for snapshot in snapshots[:-1]
    ]
    for stream, consumer in snapshots[-1].led_consumers():
        pairs = [index.get((consumer.account, consumer.stream, consumer.name)) for index in earlier]
        same = [p for p in pairs if p and same_incarnation(p[1], consumer) and same_incarnation(p[0], stream)]
        if len(same) >= least:
            yield ConsumerHistory((*(p[1] for p in same), consumer), (*(p[0] for p in same), stream))


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
        return tuple(stream_histories(self.snapshots, len(self.snapshots) - 1))

    @cached_property
    def _consumer_histories(self) -> tuple[ConsumerHistory, ...]:
        return tuple(consumer_histories(self.snapshots, len(self.snapshots) - 1))

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """No streams, or too few samples of them."""
        return too_few_samples(facts) if facts.snapshots else NO_ASSETS

    def without(self, subject: Subject) -> Self:
        """The same without that stream or consumer."""
        return msgspec.structs.replace(self, snapshots=tuple(each.without(subject) for each in self.snapshots))
