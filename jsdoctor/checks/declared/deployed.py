"""Indexes of what manifests declare, and of what is deployed already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from jsdoctor.model.finding import Finding, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Manifests
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream

_WILDCARDS = {"*", ">"}


class SubjectIndex:
    """The subjects of streams, by the first token, so that overlaps are found without comparing all."""

    def __init__(self, streams: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self._by_token: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for name, subjects in streams:
            for subject in subjects:
                self._by_token[subject.partition(".")[0]][name] = subjects

    def near(self, subjects: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The streams, by name, with a subject whose first token may match that of one of these subjects."""
        tokens = {subject.partition(".")[0] for subject in subjects}
        wanted = set(self._by_token) if tokens & _WILDCARDS else tokens | _WILDCARDS
        return {name: taken for token in wanted for name, taken in self._by_token.get(token, {}).items()}


Key = tuple[str, str]
"""Account, as the manifest calls it, and stream."""


class Declarations:
    """The streams and consumers that will exist when the manifests have been applied."""

    def __init__(self, manifests: Manifests) -> None:
        self._streams: dict[Key, list[DeclaredStream]] = defaultdict(list)
        self._consumers: dict[Key, list[DeclaredConsumer]] = defaultdict(list)
        self._copies: dict[Key, set[str]] = defaultdict(set)
        self._by_file: dict[Key, list[DeclaredStream]] = defaultdict(list)
        self._subjects: dict[Key, SubjectIndex] = {}
        for stream in manifests.kept_streams():
            self._streams[stream.account, stream.name].append(stream)
            self._by_file[stream.account, stream.place.file].append(stream)
            for origin in (stream.config.mirror, *stream.config.sources):
                if origin is not None and origin.external is None:
                    self._copies[stream.account, origin.name].add(stream.name)
        for consumer in manifests.kept_consumers():
            self._consumers[consumer.account, consumer.stream].append(consumer)

    def stream_of(self, consumer: DeclaredConsumer) -> DeclaredStream | None:
        """The consumer's stream, if all that are declared by that name are alike."""
        streams = self._streams.get((consumer.account, consumer.stream), [])
        return streams[0] if streams and all(stream.config == streams[0].config for stream in streams) else None

    def consumers_of(self, stream: DeclaredStream) -> list[DeclaredConsumer]:
        """The stream's consumers."""
        return self._consumers.get((stream.account, stream.name), [])

    def beside(self, consumer: DeclaredConsumer) -> list[DeclaredConsumer]:
        """All consumers of the same stream, this one too."""
        return self._consumers[consumer.account, consumer.stream]

    def copies_of(self, stream: DeclaredStream) -> list[str]:
        """Names of the streams that mirror or source it."""
        return sorted(self._copies.get((stream.account, stream.name), ()))

    def subjects_in_file(self, stream: DeclaredStream) -> SubjectIndex:
        """The subjects of the streams of the same file, which are for the same environment."""
        key = (stream.account, stream.place.file)
        if key not in self._subjects:
            self._subjects[key] = SubjectIndex((stream.name, stream.stored.subjects) for stream in self._by_file[key])
        return self._subjects[key]

    def config_of(self, account: str, name: str) -> StreamConfig | None:
        """The configuration of a declared stream of that name."""
        streams = self._streams.get((account, name), [])
        return streams[0].stored if streams else None


class Deployed:
    """The streams of a deployment by name. Manifests do not say which account of the servers they are for."""

    def __init__(self, snapshots: SnapshotSeries | None) -> None:
        self._snapshot: ClusterSnapshot | None = snapshots.last if snapshots else None
        self._by_name: dict[str, list[Stream]] = defaultdict(list)
        self._silent: set[str] = set()
        self._subjects: dict[str, SubjectIndex] = {}
        for stream in self._snapshot.streams if self._snapshot else ():
            self._by_name[stream.name].append(stream)
        for asset in self._snapshot.silent if self._snapshot else ():
            self._silent.add(asset.subject.stream or asset.subject.name)

    @property
    def seen(self) -> bool:
        """Whether a deployment was read."""
        return self._snapshot is not None

    def streams(self, name: str) -> list[Stream]:
        """Streams of that name, of any account."""
        return self._by_name.get(name, [])

    def stream(self, name: str) -> Stream | None:
        """The stream of that name, if exactly one exists and its leader reported it."""
        streams = self.streams(name)
        return streams[0] if len(streams) == 1 and streams[0].from_leader else None

    def doubt(self, asset: DeclaredStream | DeclaredConsumer, name: str) -> Finding | None:
        """Why it is unknown whether or how the stream of that name exists; None if it is known."""
        streams = self.streams(name)
        if len(streams) > 1:
            accounts = ", ".join(sorted(stream.account for stream in streams))
            reason = f"several accounts have a stream {name} ({accounts}), and the manifest does not name the account"
            return unknown(asset.subject, reason, "use a login of the account that it is for")
        if name in self._silent or (streams and not streams[0].from_leader):
            reason = f"stream {name} is there, and its leader did not report it"
            return unknown(asset.subject, reason, "run again, see the gaps")
        return None

    def account_of(self, names: Iterable[str]) -> str | None:
        """The account that manifests with these streams are for; None if several are possible.

        It is the only one with streams, else the only one with streams of these names.
        """
        holders = {stream.account for streams in self._by_name.values() for stream in streams} - {"$SYS"}
        if len(holders) <= 1:
            return next(iter(holders), "")
        meant = {stream.account for name in names for stream in self.streams(name)}
        return meant.pop() if len(meant) == 1 else None

    def subjects_of(self, account: str) -> SubjectIndex:
        """The subjects that are taken in an account."""
        if account not in self._subjects:
            streams = (stream for streams in self._by_name.values() for stream in streams)
            self._subjects[account] = SubjectIndex((s.name, s.config.subjects) for s in streams if s.account == account)
        return self._subjects[account]


def release_for(current: Stream | None, servers: Servers | None, connected: ConnectedServer | None) -> tuple[int, ...]:
    """The release of the server that will judge a change: the stream's leader, else the one that all servers have.

    Empty where that is not known.
    """
    if current is not None and (known := release(version_at(current.answered_by, servers, connected))):
        return known
    if connected is not None and connected.version:
        return release(connected.version)
    releases = {release(server.version) for server in (servers.servers if servers else ())}
    return releases.pop() if len(releases) == 1 else ()


def consumer_of(stream: Stream | None, name: str) -> Consumer | None:
    """The consumer of that name on the deployed stream, if it exists and its leader reported it."""
    if stream is None or not name:
        return None
    return next((consumer for consumer in stream.consumers if consumer.name == name and consumer.from_leader), None)
