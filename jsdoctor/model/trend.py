"""How streams, consumers and servers changed: between the samples of a run, and over hours and days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, Self, TypeVar

import msgspec

from jsdoctor.model.evidence import (
    GAPS_OF_ASSETS,
    NO_ASSETS,
    NO_SERVERS,
    CollectionFacts,
    Evidence,
    EvidenceSource,
    not_offered,
    too_few_samples,
)
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Server, Servers
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
    """The history of every stream that is led in the last snapshot and in at least `least` earlier ones."""
    earlier = [snapshot.led_by_key for snapshot in snapshots[:-1]]
    for stream in snapshots[-1].led_streams():
        readings = [index.get(stream.key) for index in earlier]
        same = [reading for reading in readings if reading is not None and same_incarnation(reading, stream)]
        if len(same) >= least:
            yield StreamHistory((*same, stream))


def consumer_histories(snapshots: Sequence[ClusterSnapshot], least: int) -> Iterator[ConsumerHistory]:
    """The history of every consumer that is led in the last snapshot and in at least `least` earlier ones."""
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


class ServerHistory(Readings[Server], frozen=True):
    """Readings of one server by name. Counters start at 0 again if `restarted`."""

    @property
    def restarted(self) -> bool:
        """Whether it is another process than in the oldest reading: each start makes a new id."""
        return len({reading.server_id for reading in self.readings}) > 1


class ServerTrend(Evidence, frozen=True):
    """Every server that reported its general variables in all samples, by name."""

    source = EvidenceSource.SYSTEM
    parts = ("servers", "server_rates")
    repeated = True
    unavailable = NO_SERVERS
    said_by = ("samples", "server_samples", "servers")
    of_deployment = True
    single = Servers

    servers: tuple[ServerHistory, ...]

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """Too few samples, or a login that cannot see servers."""
        return super().absent(facts) if facts.plain else too_few_samples(facts)

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.last.name for server in self.servers)

    def without(self, subject: Subject) -> Self:
        """The same without that server."""
        kept = tuple(server for server in self.servers if server.last.name != subject.name)
        return self if len(kept) == len(self.servers) else msgspec.structs.replace(self, servers=kept)


MAX_SAMPLES = 24
"""Maximum number of earlier samples that are read, as each may hold ten thousand consumers."""


class History(Evidence, frozen=True):
    """Two or more snapshots, oldest first, the last one of this run; each other of a bundle or from Prometheus.

    Other than in `Trend`, an asset need not have been seen, or led, in all of them: earlier readings of the same
    incarnation count where there are any.
    """

    source = EvidenceSource.HISTORY
    parts = ("assets", "consumers")
    unavailable = not_offered(
        "no earlier bundles of this deployment were given",
        "give the directory that jsdoctor capture writes them to: --history DIR",
        kind="history",
    )

    snapshots: tuple[ClusterSnapshot, ...]

    @property
    def now(self) -> ClusterSnapshot:
        """The snapshot of this run."""
        return self.snapshots[-1]

    def streams(self) -> Iterator[StreamHistory]:
        """Every stream that is led now and was seen before."""
        return stream_histories(self.snapshots, 1)

    def consumers(self) -> Iterator[ConsumerHistory]:
        """Every consumer that is led now and was seen before."""
        return consumer_histories(self.snapshots, 1)

    def without(self, subject: Subject) -> Self:
        """The same without that stream or consumer."""
        return msgspec.structs.replace(self, snapshots=tuple(each.without(subject) for each in self.snapshots))


def is_same_deployment(earlier: ClusterSnapshot, now: ClusterSnapshot) -> bool:
    """Whether both show at least one stream with the same creation time."""
    known = {stream.key: stream for stream in now.streams if stream.created}
    return any(s.created and s.key in known and same_incarnation(s, known[s.key]) for s in earlier.streams)
