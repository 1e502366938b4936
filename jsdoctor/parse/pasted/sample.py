"""Replies that somebody gave as one sample: what they show, and which kinds of evidence they do not hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.parse.audit_archive_reply import sealed
from jsdoctor.parse.pasted.found import RecognisedDocument, Refused
from jsdoctor.parse.replies import ServerIdentity

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
    exchanges = [*_of_account(replies, at), *_of_servers(replies, at), *_of_kubernetes(replies, at)]
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


def _of_servers(documents: Iterable[RecognisedDocument], at: datetime) -> Iterator[Exchange]:
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
