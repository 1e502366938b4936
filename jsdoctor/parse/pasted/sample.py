"""Pasted replies as one sample, and what they leave open as partial evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.partial import hide
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.parse.audit_archive_reply import sealed
from jsdoctor.parse.pasted.found import Found, Refused
from jsdoctor.parse.replies import ServerIdentity

_UNNAMED = "unnamed-server"
_STREAM_HOW = "give it whole: nats stream info STREAM --json"
_CONSUMER_HOW = "give it whole: nats consumer info STREAM CONSUMER --json"
_SERVER_HOW = "give the whole reply of the server: curl http://HOST:8222/varz or /jsz"
_OF_THE_WHOLE = frozenset({"config", "state", "delivered", "ack_floor"})


_NOT_GIVEN = tuple(
    Gap(kind=kind, subject=CLUSTER, reason=f"what was given shows no {words}", how_to_get=how, requested=False)
    for kind, words, how in (
        ("assets", "streams", "add nats stream info STREAM --json, or /jsz?accounts=1&streams=1&consumers=1&config=1"),
        (
            "servers",
            "servers",
            "add /varz, /jsz and /healthz of each server, or look at the deployment: --context NAME",
        ),
        ("accounts", "usage of an account", "add nats account info --json, or /jsz?accounts=1"),
        ("raft", "Raft groups", "add /raftz of each server"),
        ("connections", "connections", "add /connz of each server"),
        ("links", "gateways and leaf nodes", "add /gatewayz and /leafz of each server"),
        ("claims", "claims of an account", "look at the deployment with a login of the system account"),
        ("samples", "second look, and a rate needs two", "look at the deployment: --context NAME or -s URL"),
    )
)


class Pasted(msgspec.Struct, frozen=True):
    """The replies of all that was pasted, as one look, and which of their fields are not shown."""

    sample: Sample
    found: tuple[Found, ...]


def pasted_sample(found: Sequence[Found | Refused], at: datetime) -> Pasted:
    """One look at what the replies show. `at`: when they were given, where they do not say it themselves."""
    replies = tuple(one for one in found if isinstance(one, Found))
    exchanges = [*_of_account(replies, at), *_of_servers(replies, at)]
    gaps = [*(_refused(one) for one in found if isinstance(one, Refused)), *_not_given(replies)]
    return Pasted(Sample(at, tuple(exchanges), tuple(gaps)), replies)


def _not_given(replies: Iterable[Found]) -> Iterator[Gap]:
    """What the paste does not hold. Where it shows streams, they are only shown once."""
    assets = {Endpoint.STREAM_LIST, Endpoint.CONSUMER_LIST, Endpoint.JSZ}
    shown = any(one.endpoint in assets for one in replies)
    return (gap for gap in _NOT_GIVEN if not (shown and gap.kind == "assets"))


def _refused(refused: Refused) -> Gap:
    return Gap(
        kind="reply",
        subject=Subject(kind="cluster", name=refused.what),
        reason=f"{refused.what} was given and cannot be judged: {refused.reason}",
        how_to_get="give the whole reply",
    )


def _of_account(found: Iterable[Found], at: datetime) -> Iterator[Exchange]:
    streams = {one.name: one.value for one in found if one.endpoint is Endpoint.STREAM_LIST}
    consumers: dict[str, list[Any]] = {}
    for one in found:
        if one.endpoint is Endpoint.CONSUMER_LIST:
            consumers.setdefault(one.stream, []).append(one.value)
        elif one.endpoint is Endpoint.ACCOUNT_INFO:
            yield _exchange(Access.ACCOUNT, Endpoint.ACCOUNT_INFO, "INFO", at, msgspec.json.encode(one.value))
    shown = [*streams.values(), *({"config": {"name": name}} for name in consumers if name not in streams)]
    if shown:
        body = msgspec.json.encode({"total": len(shown), "streams": shown})
        yield _exchange(Access.ACCOUNT, Endpoint.STREAM_LIST, "STREAM.LIST", at, body)
    for stream, listed in consumers.items():
        # More may exist: only the stream's own count tells, and then the list is known to be short.
        total = (streams.get(stream, {}).get("state") or {}).get("consumer_count", len(listed))
        total = total if isinstance(total, int) else len(listed)
        body = msgspec.json.encode({"total": total, "consumers": listed})
        yield _exchange(Access.ACCOUNT, Endpoint.CONSUMER_LIST, f"CONSUMER.LIST.{stream}", at, body)


def _of_servers(found: Iterable[Found], at: datetime) -> Iterator[Exchange]:
    replies = [one for one in found if one.access is Access.PASTED]
    names = {_id(one): one.server for one in replies if one.server and _id(one)}
    all_names = {one.server for one in replies if one.server}
    for one in replies:
        # Without an envelope only /varz names its server; /jsz has its id, and /healthz nothing at all.
        only = next(iter(all_names)) if len(all_names) == 1 and not _id(one) else _UNNAMED
        name = one.server or names.get(_id(one), "") or _id(one) or only
        version = one.value.get("version") if one.endpoint is Endpoint.VARZ else ""
        identity = ServerIdentity(name=name, id=_id(one) or name, ver=str(version or ""))
        yield _exchange(Access.PASTED, one.endpoint, f"{one.endpoint.value} of {name}", at, sealed(identity, one.value))


def _id(found: Found) -> str:
    told = found.value.get("server_id")
    return told if isinstance(told, str) else ""


def _exchange(access: Access, endpoint: Endpoint, target: str, at: datetime, body: bytes) -> Exchange:
    return Exchange(access, endpoint, target, at, 0, body)


def with_unseen(evidence: EvidenceSet, pasted: Pasted) -> EvidenceSet:
    """The evidence in which reading a field that the paste does not show is an error, never a default."""
    series, servers = evidence.get(SnapshotSeries), evidence.get(Servers)
    if isinstance(series, SnapshotSeries):
        snapshots = tuple(_snapshot(one, pasted.found) for one in series.snapshots)
        evidence = evidence.partly_shown(SnapshotSeries(snapshots))
    if isinstance(servers, Servers):
        seen = tuple(_server(server, pasted.found) for server in servers.servers)
        evidence = evidence.partly_shown(msgspec.structs.replace(servers, servers=seen))
    return evidence


def _snapshot(snapshot: ClusterSnapshot, found: Sequence[Found]) -> ClusterSnapshot:
    of_streams = {one.name: one.unseen for one in found if one.endpoint is Endpoint.STREAM_LIST}
    of_consumers = {(one.stream, one.name): one.unseen for one in found if one.endpoint is Endpoint.CONSUMER_LIST}
    unnamed = {one.stream for one in found if one.endpoint is Endpoint.CONSUMER_LIST} - of_streams.keys()
    streams = tuple(
        _partial_stream(
            stream, None if stream.name in unnamed else of_streams.get(stream.name, frozenset()), of_consumers
        )
        for stream in snapshot.streams
    )
    return msgspec.structs.replace(snapshot, streams=streams)


def _partial_stream(
    stream: Stream, unseen: frozenset[str] | None, of_consumers: dict[tuple[str, str], frozenset[str]]
) -> Stream:
    """`unseen` None: only consumers of the stream were given."""
    consumers = tuple(_partial(one, of_consumers.get((one.stream, one.name), frozenset())) for one in stream.consumers)
    stream = msgspec.structs.replace(stream, consumers=consumers)
    if unseen is None:
        names = {f"config.{field}" for field in stream.config.__struct_fields__ if field != "name"}
        unseen = frozenset(names | {"state", "cluster", "mirror", "sources", "created"})
    partial: Stream = _partial(stream, unseen)
    return partial


def _partial(value: Any, unseen: frozenset[str]) -> Any:
    """A stream or a consumer of which some fields are not known."""
    how = _STREAM_HOW if isinstance(value, Stream) else _CONSUMER_HOW
    parts = {}
    for key in _OF_THE_WHOLE & set(value.__struct_fields__):
        below = [path.removeprefix(f"{key}.") for path in unseen if path.startswith(f"{key}.")]
        if below and key not in unseen:
            parts[key] = hide(getattr(value, key), below, value.subject, how, f"{key}.")
    changed = msgspec.structs.replace(value, **parts) if parts else value
    tops = {path.partition(".")[0] for path in unseen if path.partition(".")[0] not in parts}
    return hide(changed, sorted(tops), value.subject, how)


def _server(server: Server, found: Sequence[Found]) -> Server:
    subject = Subject(kind="server", name=server.name)
    varz, jetstream = server.varz, server.jetstream
    for one in found:
        if one.server not in ("", server.name):
            continue
        if one.endpoint is Endpoint.VARZ and varz is not None and one.unseen:
            varz = hide(varz, one.unseen, subject, _SERVER_HOW)
        elif one.endpoint is Endpoint.JSZ and jetstream is not None and one.unseen:
            jetstream = hide(jetstream, one.unseen, subject, _SERVER_HOW)
    return msgspec.structs.replace(server, varz=varz, jetstream=jetstream)
