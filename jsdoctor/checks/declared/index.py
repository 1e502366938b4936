"""Declared streams and consumers by what they belong to, so that thousands of them are found at once."""

from __future__ import annotations

from collections import defaultdict

from jsdoctor.checks.declared.subject_index import SubjectIndex
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Manifests

Key = tuple[str, str]
"""Account, as the manifest calls it, and stream."""


class Declarations:
    """What shall be there when the manifests have been applied."""

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

    def taken_beside(self, stream: DeclaredStream) -> SubjectIndex:
        """The subjects of the streams of the same file, which are for the same environment."""
        key = (stream.account, stream.place.file)
        if key not in self._subjects:
            self._subjects[key] = SubjectIndex((stream.name, stream.stored.subjects) for stream in self._by_file[key])
        return self._subjects[key]

    def config_of(self, account: str, name: str) -> StreamConfig | None:
        """The configuration of a declared stream of that name."""
        streams = self._streams.get((account, name), [])
        return streams[0].stored if streams else None
