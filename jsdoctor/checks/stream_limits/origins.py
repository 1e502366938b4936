"""What mirrors and sources copy from, and how to detect that nothing arrives although their server reports no lag.

The figures of a server count what it was sent, so they show no lag if it refuses what it is sent (stream.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

import msgspec

from jsdoctor.model.jetstream import SourceConfig, SourceInfo
from jsdoctor.model.release import release
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream, StreamKey
from jsdoctor.model.trend import StreamHistory

NO_SUCH_STREAM = 10059
_COUNTS_ON = (2, 11)
"""From here on `active` of a source counts on; before, it starts again with each attempt to reach the origin, every ten
to twenty seconds, and no error is reported: measured on 2.10.26 for a site that is down."""
_DROPS_REPEATED_IDS = (2, 12, 8)
"""From here on a repeated id is dropped, or stored by a mirror; before, it stops a copy of one replica (stream.go)."""


class Origin(msgspec.Struct, frozen=True):
    """A mirror or source of a stream: how it is doing, and the same in earlier readings, oldest first."""

    now: SourceInfo
    before: tuple[SourceInfo, ...] = ()

    @property
    def failing(self) -> bool:
        """Whether every reading shows an error."""
        return all(reading.error for reading in (*self.before, self.now))

    @property
    def error_code(self) -> int:
        """The API error code of the newest error."""
        error = self.now.error
        code = error.get("err_code", 0) if isinstance(error, dict) else 0
        return code if isinstance(code, int) else 0

    @property
    def error_text(self) -> str:
        """The newest error."""
        error = self.now.error
        text = error.get("description", "") if isinstance(error, dict) else error
        return f"{text or 'an error without a text'}" + (f" (error {self.error_code})" if self.error_code else "")


def origins_of(stream: Stream, history: StreamHistory | None) -> Iterator[Origin]:
    """The mirror or all sources of a stream. Sources of one name (several filters of a stream) differ by position."""
    earlier = [_sources(reading) for reading in history.readings[:-1]] if history else []
    if not stream.mirror and not stream.sources:
        return
    for key, info in _sources(stream).items():
        yield Origin(info, tuple(sample[key] for sample in earlier if key in sample))


def _sources(stream: Stream) -> Mapping[tuple[str, int], SourceInfo]:
    sources: dict[tuple[str, int], SourceInfo] = {}
    infos = (stream.mirror,) if stream.mirror else stream.sources
    for info in infos:
        sources[info.name, sum(1 for name, _ in sources if name == info.name)] = info
    return sources


class Deployment:
    """What is known beside the stream itself: its origins in each sample, and since when its server may copy."""

    def __init__(self, snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None) -> None:
        self._servers = {server.name: server for server in servers.servers} if servers else {}
        self._connected = connected
        self._first, self._last = snapshots.snapshots[0], snapshots.last
        self._index: dict[int, dict[StreamKey, Stream]] = {}

    def copying_since(self, stream: Stream) -> datetime | None:
        """The latest possible start of its present leader; None if unknown (2.10; plain accounts)."""
        server = self._servers.get(stream.answered_by)
        started = server.varz.start if server and server.varz else None
        led = stream.cluster.leader_since if stream.cluster else None
        alone = not (stream.cluster and stream.cluster.replicas)
        if led is None and not (alone and started):
            return None
        return max(moment for moment in (led, started, stream.created) if moment)

    def stops_at_repeated_ids(self, stream: Stream) -> bool:
        """Whether the version of its server is known, and is one that such a message stops: with one replica only."""
        if stream.config.num_replicas > 1:
            return False
        version = self._release(stream)
        return bool(version) and version < _DROPS_REPEATED_IDS

    def counts_again(self, stream: Stream) -> bool:
        """Whether it has sources, and a server whose `active` is known to start again with each attempt."""
        version = self._release(stream)
        return bool(stream.config.sources and version) and version < _COUNTS_ON

    def _release(self, stream: Stream) -> tuple[int, ...]:
        server = self._servers.get(stream.answered_by)
        return release(server.version if server else (self._connected.version if self._connected else ""))

    def has_no(self, stream: Stream, name: str) -> bool:
        """Whether no server that responded knows an origin of the same account, not even one without a leader."""
        config = stream.config
        if any(c.name == name and c.external is not None for c in config.origins):
            return False
        return (stream.account, name) not in self._names

    def lists_all(self, stream: Stream) -> bool:
        """Whether its account listed all its streams: what is not among them was deleted, or was never there."""
        return stream.account in self._last.listed

    @cached_property
    def _names(self) -> set[tuple[str, str]]:
        names = {(asset.subject.account, asset.subject.name) for asset in self._last.silent}
        return names | {(stream.account, stream.name) for stream in self._last.streams}

    def earlier_origin(self, stream: Stream, config: SourceConfig) -> Stream | None:
        """An origin of the same account, of any domain, in the oldest sample, seen from its leader."""
        return self._find(self._first, stream.key_of_origin(config))

    def present_origin(self, stream: Stream, config: SourceConfig) -> Stream | None:
        """The same in the newest sample."""
        return self._find(self._last, stream.key_of_origin(config))

    def _find(self, snapshot: ClusterSnapshot, key: StreamKey | None) -> Stream | None:
        if id(snapshot) not in self._index:
            self._index[id(snapshot)] = {s.key_in_domain: s for s in snapshot.led_streams()}
        return self._index[id(snapshot)].get(key) if key else None


class Missing(msgspec.Struct, frozen=True):
    """Lower bound of the messages of its origins that a stalled copy did not get, and for how long, in nanoseconds."""

    count: int
    for_ns: float


def missing(history: StreamHistory, deployment: Deployment) -> Missing | None:
    """What the origins had at the first reading that a stalled copy did not get by the last.

    None if nothing is missing or nothing is known: a copy that moves, that takes only a part, an origin not listed. An
    overloaded server copies late, and reports lag 0 too: how long they are missing decides.
    """
    stream, config = history.last, history.last.config
    if history.first.state.last_seq != stream.state.last_seq:
        return None
    if remade := remade_origin(history, deployment):
        oldest = remade.state.first_ts
        before_s = (remade.at - oldest).total_seconds() if oldest else 0.0
        return Missing(remade.state.messages, (max(before_s, 0.0) + history.elapsed_s) * 1e9)
    if config.mirror is None and not deployment.stops_at_repeated_ids(stream):
        return None
    sources = config.origins
    if not all(source.takes_all for source in sources):
        return None
    samples = [(deployment.earlier_origin(stream, s), deployment.present_origin(stream, s)) for s in sources]
    seen = [(earlier, present) for earlier, present in samples if earlier and present]
    if config.mirror:
        # Messages past that sequence, whatever of the others was deleted.
        states, end = [earlier.state for earlier, _ in seen], stream.state.last_seq
        count = sum(max(state.messages - max(end - state.first_seq + 1, 0), 0) for state in states)
    else:
        count = max(sum(earlier.state.messages for earlier, _ in seen) - stream.state.last_seq, 0)
    return Missing(count, _waiting_ns(count, seen, history.elapsed_s)) if count else None


def remade_origin(history: StreamHistory, deployment: Deployment) -> Stream | None:
    """The only origin of a copy with sources that has fewer messages than were copied, and was created since the last.

    Before 2.14 a server goes on after the sequence that it had copied (issue 6206). The count alone could be that of
    another source that the copy had before, the time alone that of a clock.
    """
    stream, config = history.last, history.last.config
    if config.mirror or config.subjects or len(config.sources) != 1:
        return None
    (source,) = config.sources
    if not source.takes_all:
        return None
    earlier, present = deployment.earlier_origin(stream, source), deployment.present_origin(stream, source)
    copied_at = stream.state.last_ts
    if not (earlier and present and present.created and copied_at and earlier.state.messages):
        return None
    again = earlier.created == present.created and present.created > copied_at
    return earlier if again and present.state.last_seq < stream.state.last_seq else None


def _waiting_ns(count: int, seen: Sequence[tuple[Stream, Stream]], elapsed_s: float) -> float:
    """For how long that many messages have been missing: since the last was stored, or at the rate of their origins."""
    grown = sum(present.state.last_seq - earlier.state.last_seq for earlier, present in seen)
    if grown > 0:
        return elapsed_s * (1 + count / grown) * 1e9
    rest = [(present.at - present.state.last_ts).total_seconds() for _, present in seen if present.state.last_ts]
    return max(min(rest, default=0.0), elapsed_s) * 1e9


def ahead(history: StreamHistory, deployment: Deployment) -> int:
    """By how many sequences a mirror was past its present origin, which was therefore recreated; else 0.

    The readings of one sample are not of one instant: a later one of the origin can only be farther.
    """
    mirror = history.last.config.mirror
    origin = deployment.present_origin(history.last, mirror) if mirror else None
    return max(history.first.state.last_seq - origin.state.last_seq, 0) if origin else 0


def surplus(stream: Stream) -> int:
    """Messages that a mirror holds beyond what its sequences allow: it continued after its origin was recreated."""
    state = stream.state
    return max(state.messages - (state.last_seq - state.first_seq + 1), 0) if stream.config.mirror else 0
