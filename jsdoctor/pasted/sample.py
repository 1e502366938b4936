"""Replies that somebody gave as one sample: what they show, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.bundles.audit_archive_reply import sealed
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.partial import raw_field
from jsdoctor.model.server import Accounts, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import ServerTrend, Trend
from jsdoctor.pasted.found import RecognisedDocument, Refused
from jsdoctor.replies.decoding import ServerIdentity
from jsdoctor.replies.unread import mapped, read_of, without_unseen

_STREAM_HOW = "give it whole: nats stream info STREAM --json"
_CONSUMER_HOW = "give it whole: nats consumer info STREAM CONSUMER --json"
_SERVER_HOW = (
    "give the whole reply of the server: /varz, or curl"
    " 'http://HOST:8222/jsz?accounts=1&streams=1&consumers=1&config=1'"
)
_METRICS_HOW = "no exporter has a metric for it; look at the deployment: --context NAME or -s URL"
_LINKS = (Endpoint.GATEWAYZ, Endpoint.LEAFZ, Endpoint.ROUTEZ)


def with_unseen(evidence: EvidenceSet, samples: Sequence[Pasted]) -> EvidenceSet:
    """The evidence of these samples, of which checks get what was shown."""
    series = evidence.get(SnapshotSeries)
    if series is not None:
        snapshots = partial_snapshots(series.snapshots, samples)
        evidence = evidence.partly_shown(SnapshotSeries(snapshots))
        if len(snapshots) > 1:
            evidence = evidence.partly_shown(Trend(snapshots))
    documents = [item for sample in samples for item in sample.found]

    def shown(value: Any, _: Subject) -> Any:
        reader = _server if isinstance(value, Server) else _links if isinstance(value, ServerLinks) else None
        return value if reader is None else reader(value, documents)

    for kind in (Servers, ServerTrend, Links):
        if (known := evidence.get(kind)) is not None:
            evidence = evidence.partly_shown(mapped(known, shown), kind)
    return _without_unshown_kinds(evidence, documents)


def partial_snapshots(snapshots: Sequence[ClusterSnapshot], samples: Sequence[Pasted]) -> tuple[ClusterSnapshot, ...]:
    """Each snapshot, of which checks get what the look of that time showed."""
    of_sample = {sample.sample.taken_at: sample.found for sample in samples}
    return tuple(_snapshot(snapshot, of_sample.get(snapshot.taken_at, ())) for snapshot in snapshots)


def _without_unshown_kinds(evidence: EvidenceSet, documents: Sequence[RecognisedDocument]) -> EvidenceSet:
    """No metric shows configured links, and some exporters do not show the storage of accounts."""
    if not any(document.is_of_metrics for document in documents):
        return evidence
    evidence = evidence.without(Topology, _not_shown("links", "how servers are linked"))
    if all(document.shows_usage for document in documents):
        return evidence
    return evidence.without(Accounts, _not_shown("accounts", "the storage of each account"))


def _not_shown(kind: str, words: str) -> Gap:
    return Gap(kind, CLUSTER, f"no metric shows {words}", _METRICS_HOW.partition("; ")[2], requested=False)


def _snapshot(snapshot: ClusterSnapshot, documents: Sequence[RecognisedDocument]) -> ClusterSnapshot:
    inside: dict[tuple[str, str, str], frozenset[str]] = {}
    for document in documents:
        for key, unseen in (document.inside or {}).items():
            inside[key] = inside.get(key, frozenset()) | unseen
    if inside:
        how = _METRICS_HOW if any(document.is_of_metrics for document in documents) else _SERVER_HOW
        nested = tuple(_nested(stream, inside, how) for stream in snapshot.streams)
        snapshot = msgspec.structs.replace(snapshot, streams=nested)
    of_streams = {item.name: item.unseen for item in documents if item.endpoint is Endpoint.STREAM_LIST}
    consumers = [item for item in documents if item.endpoint is Endpoint.CONSUMER_LIST]
    of_consumers = {(item.stream, item.name): item.unseen for item in consumers}
    known: dict[str, frozenset[str] | None] = {**dict.fromkeys(item.stream for item in consumers), **of_streams}
    streams = tuple(_partial_stream(s, known.get(s.name, frozenset()), of_consumers) for s in snapshot.streams)
    return msgspec.structs.replace(snapshot, streams=streams, is_pasted=bool(of_streams or of_consumers))


def _nested(stream: Stream, inside: Mapping[tuple[str, str, str], frozenset[str]], how: str) -> Stream:
    # The name of an account gets its domain where several are seen; an asset's own name follows the first of them.
    account = stream.account if (stream.account, stream.name, "") in inside else stream.account.rpartition("@")[0]
    consumers = tuple(
        _partial(consumer, inside.get((account, consumer.stream, consumer.name), frozenset()), how)
        for consumer in stream.consumers
    )
    stream = read_of(msgspec.structs.replace(stream, consumers=consumers))
    partial: Stream = _partial(stream, inside.get((account, stream.name, ""), frozenset()), how)
    return partial


def _partial_stream(
    stream: Stream, unseen: frozenset[str] | None, of_consumers: dict[tuple[str, str], frozenset[str]]
) -> Stream:
    """`unseen` None: only consumers of the stream were given."""
    consumers = tuple(
        _partial(consumer, of_consumers.get((consumer.stream, consumer.name), frozenset()), _CONSUMER_HOW)
        for consumer in stream.consumers
    )
    stream = read_of(msgspec.structs.replace(stream, consumers=consumers, is_given=unseen is not None))
    if unseen is None:
        names = {f"config.{field}" for field in stream.config.__struct_fields__ if field != "name"}
        unseen = frozenset(names | {"state", "cluster", "mirror", "sources", "created"})
    partial: Stream = _partial(stream, unseen, _STREAM_HOW)
    return partial


def _partial(value: Any, unseen: frozenset[str], how: str, subject: Subject | None = None) -> Any:
    """A stream, consumer or part of a server without what is not shown of it, and what it lacks."""
    return without_unseen(value, unseen | raw_field(value, "unseen"), subject or value.subject, how)


def _links(links: ServerLinks, documents: Sequence[RecognisedDocument]) -> ServerLinks:
    unseen: frozenset[str] = frozenset().union(
        *(document.unseen for document in documents if document.server == links.server and document.endpoint in _LINKS)
    )
    return read_of(links, unseen, _METRICS_HOW)


def _server(server: Server, documents: Sequence[RecognisedDocument]) -> Server:
    subject = Subject(kind="server", name=server.name)
    own = [document for document in documents if document.server in ("", server.name)]
    how = _METRICS_HOW if any(item.is_of_metrics for item in own) else _SERVER_HOW
    of_varz = frozenset().union(*(item.unseen for item in own if item.endpoint is Endpoint.VARZ))
    of_jsz = frozenset().union(*(item.unseen for item in own if item.endpoint is Endpoint.JSZ))
    varz = _partial(server.varz, of_varz, how, subject) if server.varz is not None else None
    jetstream = server.jetstream
    if jetstream is not None:
        jetstream = _partial(jetstream, of_jsz, how, subject)
    server = msgspec.structs.replace(server, varz=varz, jetstream=jetstream)
    shown = any(item.is_of_metrics for item in own)
    untold = [field for field in ("server_id", "version") if field in of_jsz or not (shown or getattr(server, field))]
    return read_of(server, untold, how)


_UNNAMED = "unnamed-server"

NOT_GIVEN = tuple(
    Gap(kind=kind, subject=CLUSTER, reason=f"what was given shows no {words}", how_to_get=how, requested=False)
    for kind, words, how in (
        ("assets", "streams", "add nats stream info STREAM --json, or /jsz?accounts=1&streams=1&consumers=1&config=1"),
        (
            "servers",
            "servers",
            "add /varz, /jsz and /healthz of each server, or look at the deployment: --context NAME",
        ),
        ("accounts", "usage of an account", "add the reply to nats request '$JS.API.INFO' '', or /jsz?accounts=1"),
        ("raft", "Raft groups", "add /raftz of each server"),
        ("connections", "connections", "add /connz of each server"),
        ("links", "gateways and leaf nodes", "add /gatewayz and /leafz of each server"),
        ("claims", "claims of an account", "look at the deployment with a login of the system account"),
        ("samples", "second sample, and a rate needs two", "look at the deployment: --context NAME or -s URL"),
    )
)


class Pasted(msgspec.Struct, frozen=True):
    """The replies of all that was pasted, as one sample, and which of their fields are not shown."""

    sample: Sample
    found: tuple[RecognisedDocument, ...]


def pasted_sample(
    result: Sequence[RecognisedDocument | Refused], at: datetime, missing: Iterable[Gap] = NOT_GIVEN
) -> Pasted:
    """One sample of what the replies show. `at`: when they were given, if they do not have a time themselves.

    `missing`: the gap for each kind of evidence that they may lack.
    """
    replies = tuple(document for document in result if isinstance(document, RecognisedDocument))
    exchanges = [*_of_account(replies, at), *_server_exchanges(replies, at), *_of_kubernetes(replies, at)]
    gaps = [*(_refused(refused) for refused in result if isinstance(refused, Refused)), *_not_given(replies, missing)]
    return Pasted(Sample(at, tuple(exchanges), tuple(gaps)), replies)


def _not_given(replies: Iterable[RecognisedDocument], missing: Iterable[Gap]) -> Iterator[Gap]:
    """What the paste does not hold. Where it shows streams, they are only shown once."""
    assets = {Endpoint.STREAM_LIST, Endpoint.CONSUMER_LIST, Endpoint.JSZ}
    shown = any(reply.endpoint in assets for reply in replies)
    return (gap for gap in missing if not (shown and gap.kind == "assets"))


def _refused(refused: Refused) -> Gap:
    return Gap(
        kind="reply",
        subject=Subject(kind="cluster", name=refused.what),
        reason=f"{refused.what} was given and cannot be judged: {refused.reason}",
        how_to_get=refused.how_to_get,
    )


def _of_account(documents: Iterable[RecognisedDocument], at: datetime) -> Iterator[Exchange]:
    streams: dict[str, Any] = {}
    consumers: dict[str, list[Any]] = {}
    heads: dict[str, dict[str, Any]] = {}
    for document in documents:
        if document.endpoint is Endpoint.CONSUMER_LIST:
            consumers.setdefault(document.stream, []).extend([document.value] if document.name else [])
        elif document.endpoint is Endpoint.STREAM_LIST and document.name:
            streams[document.name] = document.value
        elif document.endpoint is Endpoint.ACCOUNT_INFO:
            yield _exchange(Access.ACCOUNT, Endpoint.ACCOUNT_INFO, "INFO", at, msgspec.json.encode(document.value))
        if document.endpoint in (Endpoint.STREAM_LIST, Endpoint.CONSUMER_LIST) and not document.name:
            heads.setdefault(document.stream, {}).update(document.value)
    shown = [*streams.values(), *({"config": {"name": name}} for name in consumers if name not in streams)]
    if shown or heads:
        body = msgspec.json.encode({"total": len(shown), "streams": shown, **heads.get("", {})})
        yield _exchange(Access.ACCOUNT, Endpoint.STREAM_LIST, "STREAM.LIST", at, body)
    for stream, listed in consumers.items():
        # More may exist: only the stream's own count shows that, and then the list is known to be short.
        total = (streams.get(stream, {}).get("state") or {}).get("consumer_count", len(listed))
        total = total if isinstance(total, int) else len(listed)
        body = msgspec.json.encode({"total": total, "consumers": listed, **heads.get(stream, {})})
        yield _exchange(Access.ACCOUNT, Endpoint.CONSUMER_LIST, f"CONSUMER.LIST.{stream}", at, body)


def _server_exchanges(documents: Iterable[RecognisedDocument], at: datetime) -> Iterator[Exchange]:
    """The replies of servers. Who sent one follows from the others where it has only an id, or only a name."""
    replies = [document for document in documents if document.access is Access.PASTED]
    names = {_id(reply): reply.server for reply in replies if reply.server and _id(reply)}
    ids = {name: server_id for server_id, name in names.items()}
    versions = {
        _id(reply) or reply.server: str(reply.value.get("version") or "")
        for reply in replies
        if reply.endpoint is Endpoint.VARZ
    }
    all_names = {reply.server for reply in replies if reply.server}
    for reply in replies:
        # Without an envelope only /varz names its server; /jsz has its id, and /healthz nothing at all.
        only = next(iter(all_names)) if len(all_names) == 1 and not _id(reply) else _UNNAMED
        name = reply.server or names.get(_id(reply), "") or _id(reply) or only
        server_id = _id(reply) or ids.get(name, name)
        cluster = reply.value.get("cluster") if reply.endpoint is Endpoint.VARZ else None
        identity = ServerIdentity(
            name=name,
            id=server_id,
            ver=versions.get(server_id, ""),
            cluster=str(cluster.get("name") or "") if isinstance(cluster, dict) else "",
        )
        yield _exchange(
            Access.PASTED, reply.endpoint, f"{reply.endpoint.value} of {name}", at, sealed(identity, reply.value)
        )


def _of_kubernetes(documents: Iterable[RecognisedDocument], at: datetime) -> Iterator[Exchange]:
    for document in documents:
        if document.endpoint is Endpoint.KUBERNETES:
            body = msgspec.json.encode(document.value)
            yield _exchange(Access.KUBERNETES, Endpoint.KUBERNETES, str(document.value["namespace"]), at, body)


def _id(document: RecognisedDocument) -> str:
    reported = document.value.get("server_id")
    return reported if isinstance(reported, str) else ""


def _exchange(access: Access, endpoint: Endpoint, target: str, at: datetime, body: bytes) -> Exchange:
    return Exchange(access, endpoint, target, at, 0, body)
