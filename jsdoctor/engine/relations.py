"""What findings have in common: the servers, streams and consumers that each of them is about.

Placements come from what was seen of streams and consumers. Names of servers in a message or in its evidence count as
well: a finding about a lagging replica is about that replica's server, not about every server of the stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Finding, Subject
from jsdoctor.model.logins import account_of
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Relation
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream

Key = tuple[str, ...]
"""A kind and a name. Two findings are linked if they share a key and their accounts do not differ."""

_SOME_SERVER: Key = ("some server",)
_MOMENT: Key = ("moment",)
_SYMMETRIC = frozenset({Relation.MOMENT, Relation.ACCOUNT, Relation.DOMAIN})
_KIND_OF_CAUSE = {
    Relation.STREAM: "stream",
    Relation.ORIGIN: "stream",
    Relation.RETAINED: "consumer",
    Relation.CONSUMER: "consumer",
}
_ACK_RETENTIONS = frozenset({"workqueue", "interest"})
_WORD = re.compile(r"[A-Za-z0-9_.-]+")


class Relations:
    """Keys of findings, from the placements and origins in the evidence. `results` name servers that are away."""

    def __init__(self, evidence: EvidenceSet, results: Iterable[Result]) -> None:
        series, servers = evidence.get(SnapshotSeries), evidence.get(Servers)
        snapshots = series.snapshots if series is not None else ()
        self._streams = {stream.subject: stream for sample in snapshots for stream in sample.streams}
        self._assets = {asset.subject: asset for asset in _placed_assets(self._streams.values())}
        self._answered_by = {stream.subject: stream.answered_by for stream in self._streams.values()}
        self._silent = {silent.subject for sample in snapshots for silent in sample.silent}
        self._servers = {name for asset in self._assets.values() for name in _members(asset)}
        self._servers |= {server.name for server in servers.servers} if servers is not None else set()
        self._servers |= {r.finding.subject.name for r in results if r.finding.subject.kind == "server"}
        self._servers.discard("")
        self._domain_of = {name: stream.domain for stream in self._streams.values() for name in _members(stream)}
        known = servers.servers if servers is not None else ()
        self._domain_of |= {server.name: server.domain for server in known}
        self._domains = {*self._domain_of.values()} or {""}

    def of_cause(self, finding: Finding, link: Relation) -> Iterator[Key]:
        """The keys under which a finding explains others."""
        subject = finding.subject
        if link is Relation.SAME:
            yield _identity(subject)
        elif link is Relation.REMOTE:
            yield from self._lost_link(subject)
        elif link in _SYMMETRIC:
            yield from self._symmetric_keys(finding, link)
        elif link in _KIND_OF_CAUSE:
            if subject.kind == _KIND_OF_CAUSE[link] and (link is not Relation.RETAINED or self._is_retained(subject)):
                yield from _stream_key(subject)
        else:
            yield from (("server", name) for name in self.servers(finding))
            if subject.kind == "server":
                yield _SOME_SERVER

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
                yield from (("stream", origin.name) for origin in stream.config.origins if origin.external is None)
        elif link in _SYMMETRIC:
            yield from self._symmetric_keys(finding, link)
        elif link is Relation.REMOTE:
            yield from self._links_to_origins(stream_of(subject))
        elif subject in self._silent and not self._placed(subject):
            yield _SOME_SERVER
        elif link is Relation.MEMBER or self._named(finding) or subject.kind == "server":
            yield from (("server", name) for name in self.servers(finding))
        else:
            yield from (("server", name) for name in self._carriers(subject) or self._carriers(stream_of(subject)))

    def _symmetric_keys(self, finding: Finding, link: Relation) -> Iterator[Key]:
        """Keys of links that are the same from both sides."""
        subject = finding.subject
        if link is Relation.MOMENT:
            yield _MOMENT
        elif link is Relation.ACCOUNT:
            if account := account_of(subject):
                yield ("account", account)
        else:
            yield from (("domain", domain) for domain in self._domains_of(finding))

    def _domains_of(self, finding: Finding) -> tuple[str, ...]:
        """The domains of its stream or servers, or the deployment's only domain."""
        if len(self._domains) == 1:
            return tuple(self._domains)
        stream = self._streams.get(stream_of(finding.subject))
        if stream:
            return (stream.domain,)
        return tuple(dict.fromkeys(self._domain_of[n] for n in self.servers(finding) if n in self._domain_of))

    def _is_retained(self, subject: Subject) -> bool:
        stream = self._streams.get(stream_of(subject))
        return stream is not None and stream.config.retention in _ACK_RETENTIONS

    def _lost_link(self, subject: Subject) -> Iterator[Key]:
        """The key of a link that is down: the gateway of a cluster, or a leaf node of a server's domain."""
        if subject.kind == "server":
            yield ("leaf node", self._domain_of.get(subject.name, ""))
        elif subject.kind == "cluster":
            yield ("gateway", "" if subject == CLUSTER else subject.name)

    def _links_to_origins(self, subject: Subject) -> Iterator[Key]:
        """The keys of links by which a stream may reach its origins: leaf nodes to another domain, gateways to another
        cluster or to an origin that was not seen.
        """
        stream = self._streams.get(subject)
        for origin in stream.config.origins if stream else ():
            local = self._streams.get(Subject(kind="stream", name=origin.name, account=subject.account))
            if stream and origin.external is not None and origin.external.domain:
                yield from (("leaf node", domain) for domain in (stream.domain, origin.external.domain))
            elif stream and (origin.external is not None or local is None or local.cluster_name != stream.cluster_name):
                near_and_far = {stream.cluster_name, local.cluster_name if local else "", ""}
                yield from (("gateway", cluster) for cluster in sorted(near_and_far))

    def _carriers(self, subject: Subject) -> tuple[str, ...]:
        """The servers that a stream or consumer depends on now: its leader, or all its members if it has none."""
        asset = self._assets.get(subject)
        if asset is None or asset.cluster is None:
            return ()
        peers = asset.cluster.replicas
        lost = 2 * sum(peer.offline for peer in peers) > len(peers)
        leads = asset.has_leader and asset.cluster.leader and not lost
        return (asset.cluster.leader,) if leads else self._placed(subject)

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
        """The known servers whose names are in the message or the evidence."""
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


_WORDS = {
    Relation.ORIGIN: "its origin is {cause}",
    Relation.RETAINED: "it keeps what {cause} has not acknowledged",
    Relation.CONSUMER: "{cause} is a consumer of it",
    Relation.REMOTE: "its origin is reached through that link",
    Relation.ACCOUNT: "the same account {name}",
    Relation.MOMENT: "at the same time",
}


def in_words(link: Relation, key: Key, effect: Finding, cause: Finding) -> str:
    """The evidence of a link, as half a sentence."""
    if link in _WORDS:
        return _WORDS[link].format(cause=cause.subject.label, name=key[-1])
    if link in (Relation.SERVER, Relation.MEMBER):
        return _server_in_words(key, effect, cause)
    if link is Relation.DOMAIN:
        return f"the same domain {key[1]}" if key[1] else "the same cluster"
    if effect.subject == cause.subject:
        return f"the same {effect.subject.kind}"
    return f"the same stream {stream_of(cause.subject).name}"


def _server_in_words(key: Key, effect: Finding, cause: Finding) -> str:
    if key == _SOME_SERVER:
        return f"no server responds for it, and {cause.subject.label} is away"
    if effect.subject.kind == cause.subject.kind == "server":
        return f"the same server {key[1]}" if effect.subject.name == key[1] else f"it names {key[1]}"
    return f"{key[1]} holds it" if cause.subject.kind == "server" else f"{key[1]} holds {cause.subject.label}"


def accounts_agree(first: Subject, second: Subject) -> bool:
    """Whether accounts are equal or one is unknown: logs and captures often name a stream without its account."""
    return not first.account or not second.account or first.account == second.account


def _identity(subject: Subject) -> Key:
    return (subject.kind, subject.stream, subject.name)


def _stream_key(subject: Subject) -> Iterator[Key]:
    if subject.kind in ("stream", "consumer") and (name := stream_of(subject).name):
        yield ("stream", name)


def _placed_assets(streams: Iterable[Stream]) -> Iterator[Stream | Consumer]:
    """The streams and consumers whose replies show where they are placed."""
    for stream in streams:
        assets: tuple[Stream | Consumer, ...] = (stream, *stream.consumers)
        yield from (asset for asset in assets if asset.cluster)


def _members(asset: Stream | Consumer) -> tuple[str, ...]:
    cluster = asset.cluster
    return (cluster.leader, asset.answered_by, *(peer.name for peer in cluster.replicas)) if cluster else ()
