"""What findings have in common: the servers, streams and consumers that each of them is about.

Placements come from what was seen of streams and consumers. Names of servers in a message or in its evidence count as
well: a finding about a lagging replica is about that replica's server, not about every server of the stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Subject
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Relation
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream

Key = tuple[str, ...]
"""A kind of thing and its name. Two findings are linked where they share a key and their accounts do not differ."""

ANYWHERE: Key = ("deployment",)
_HELD = frozenset({"workqueue", "interest"})
_WORD = re.compile(r"[A-Za-z0-9_.-]+")


class Relations:
    """Keys of findings, from the placements and origins in the evidence. `results` name servers that are away."""

    def __init__(self, evidence: EvidenceSet, results: Iterable[Result]) -> None:
        series, servers = evidence.get(SnapshotSeries), evidence.get(Servers)
        snapshots = series.snapshots if isinstance(series, SnapshotSeries) else ()
        self._streams = {stream.subject: stream for sample in snapshots for stream in sample.streams}
        self._assets = {asset.subject: asset for asset in _assets(self._streams.values())}
        self._answered_by = {stream.subject: stream.answered_by for stream in self._streams.values()}
        self._silent = {silent.subject for sample in snapshots for silent in sample.silent}
        self._servers = {name for asset in self._assets.values() for name in _members(asset)}
        self._servers |= {server.name for server in servers.servers} if isinstance(servers, Servers) else set()
        self._servers |= {r.finding.subject.name for r in results if r.finding.subject.kind == "server"}
        self._servers.discard("")

    def of_cause(self, finding: Finding, link: Relation) -> Iterator[Key]:
        """The keys under which a finding explains others."""
        subject = finding.subject
        if link is Relation.SAME:
            yield _identity(subject)
        elif link in (Relation.STREAM, Relation.ORIGIN):
            if subject.kind == "stream":
                yield from _stream_key(subject)
        elif link is Relation.RETAINED:
            stream = self._streams.get(stream_of(subject))
            if subject.kind == "consumer" and stream and stream.config.retention in _HELD:
                yield from _stream_key(subject)
        elif link is Relation.CONSUMER:
            if subject.kind == "consumer":
                yield from _stream_key(subject)
        elif link is Relation.DEPLOYMENT:
            yield ANYWHERE
        else:
            yield from (("server", name) for name in self.servers(finding))
            if subject.kind == "server":
                yield ("some server",)

    def of_effect(self, finding: Finding, link: Relation) -> Iterator[Key]:
        """The keys under which a finding is explained by others."""
        subject = finding.subject
        if link is Relation.SAME:
            yield _identity(subject)
        elif link in (Relation.STREAM, Relation.RETAINED, Relation.CONSUMER):
            yield from _stream_key(subject)
        elif link is Relation.ORIGIN:
            stream = self._streams.get(stream_of(subject))
            if stream:
                origins = (*((stream.config.mirror,) if stream.config.mirror else ()), *(stream.config.sources or ()))
                yield from (("stream", origin.name) for origin in origins if origin.external is None)
        elif link is Relation.DEPLOYMENT:
            yield ANYWHERE
        elif subject in self._silent and not self._placed(subject):
            yield ("some server",)
        else:
            yield from (("server", name) for name in self.servers(finding))

    def servers(self, finding: Finding) -> tuple[str, ...]:
        """The servers a finding is about: its subject, else those it names, else those that hold its subject."""
        subject = finding.subject
        named = self._named(finding)
        if subject.kind == "server":
            return tuple(dict.fromkeys((subject.name, *named)))
        if not named:
            return self._placed(subject) or self._placed(stream_of(subject))
        # The server that responds for a stream lists the other members, but not itself.
        answered_by = self._answered_by.get(subject, "")
        return (*named, answered_by) if answered_by and answered_by not in named else named

    def _placed(self, subject: Subject) -> tuple[str, ...]:
        """The servers that hold it, each once."""
        asset = self._assets.get(subject)
        return tuple(dict.fromkeys(filter(None, _members(asset)))) if asset else ()

    def _named(self, finding: Finding) -> tuple[str, ...]:
        texts = [finding.message]
        for observation in finding.evidence:
            texts.append(observation.path)
            texts += [observation.value] if isinstance(observation.value, str) else []
        words = (word.strip(".-") for text in texts for word in _WORD.findall(text))
        return tuple(dict.fromkeys(word for word in words if word in self._servers))


def stream_of(subject: Subject) -> Subject:
    """The stream that a subject is, or belongs to."""
    name = subject.stream if subject.kind == "consumer" else subject.name
    return Subject(kind="stream", name=name, account=subject.account)


def in_words(link: Relation, key: Key, effect: Finding, cause: Finding) -> str:
    """The evidence of a link, as half a sentence."""
    if link is Relation.SERVER:
        if len(key) < 2:
            return f"no server responds for it, and {cause.subject.label} is away"
        if effect.subject.kind == cause.subject.kind == "server":
            return f"the same server {key[1]}" if effect.subject.name == key[1] else f"it names {key[1]}"
        return f"{key[1]} holds it" if cause.subject.kind == "server" else f"{key[1]} holds {cause.subject.label}"
    if link is Relation.ORIGIN:
        return f"its origin is {cause.subject.label}"
    if link is Relation.RETAINED:
        return f"it keeps what {cause.subject.label} has not acknowledged"
    if link is Relation.CONSUMER:
        return f"{cause.subject.label} is a consumer of it"
    if link is Relation.DEPLOYMENT:
        return "the same deployment at the same time"
    if effect.subject == cause.subject:
        return f"the same {effect.subject.kind}"
    return f"the same stream {stream_of(cause.subject).name}"


def accounts_agree(first: Subject, second: Subject) -> bool:
    """Logs and captures often name a stream without its account: that does not separate two findings."""
    return not first.account or not second.account or first.account == second.account


def _identity(subject: Subject) -> Key:
    return (subject.kind, subject.stream, subject.name)


def _stream_key(subject: Subject) -> Iterator[Key]:
    if subject.kind in ("stream", "consumer") and (name := stream_of(subject).name):
        yield ("stream", name)


def _assets(streams: Iterable[Stream]) -> Iterator[Stream | Consumer]:
    """Those that name where they are placed."""
    for stream in streams:
        assets: tuple[Stream | Consumer, ...] = (stream, *stream.consumers)
        yield from (asset for asset in assets if asset.cluster)


def _members(asset: Stream | Consumer) -> tuple[str, ...]:
    cluster = asset.cluster
    return (cluster.leader, asset.answered_by, *(peer.name for peer in cluster.replicas)) if cluster else ()
