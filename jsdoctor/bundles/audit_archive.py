"""An archive of `nats audit gather` as samples: the exchanges of a sample with a login of the system account.

The archive has no request times but that of its end. So `taken_at` and every `asked_at` are that time, by the clock
of the host that gathered, and nothing about clocks may be concluded from them; ages come from the servers' own times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec

from jsdoctor.bundles.audit_archive_jetstream import ArchivedJetStream, Body
from jsdoctor.bundles.audit_archive_manifest import (
    ACCOUNT_INFO,
    ACCOUNT_RAFT,
    CONNECTIONS,
    GATEWAYS,
    HEALTH,
    LEAFS,
    OF_ACCOUNTS,
    OF_SERVERS,
    ONE_SAMPLE,
    ROUTES,
    SERVERS_ONCE,
    STREAM_INFO,
    VARIABLES,
    ArchiveManifest,
    lacking,
    unfinished,
    unlisted,
    unread,
)
from jsdoctor.bundles.audit_archive_reply import ArchivedReply, Replies, Senders, encoded, open_artifact, sealed
from jsdoctor.bundles.bundle import BundleError
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.reported import Instant
from jsdoctor.replies.decoding import YEARS, ReplyError, decode

_UNCHANGED = {
    VARIABLES: Endpoint.VARZ,
    HEALTH: Endpoint.HEALTHZ,
    GATEWAYS: Endpoint.GATEWAYZ,
    LEAFS: Endpoint.LEAFZ,
    ROUTES: Endpoint.ROUTEZ,
    ACCOUNT_RAFT: Endpoint.RAFTZ,
    ACCOUNT_INFO: Endpoint.ACCOUNTZ,
}


class _Metadata(msgspec.Struct, frozen=True):
    capture_timestamp: Instant | None = None


class _Connection(msgspec.Struct, frozen=True, gc=False):
    cid: int = 0


def decode_archive(
    manifest: ArchiveManifest, read: Callable[[str], bytes], written: datetime | None = None
) -> tuple[Sample, ...]:
    """The samples of an archive, with gaps for what it lacks. `read` gives the content of a member.

    The last sample has everything. If streams are in the archive twice, with time between, another sample with the
    earlier state is before it. `written` is the newest time of a member, for an archive whose content has no time.

    Raises BundleError for an archive without a time, and whatever `read` raises.
    """
    replies = Replies([*unfinished(manifest), *unlisted(manifest)])
    for artifact in manifest.of_type(*OF_SERVERS, *OF_ACCOUNTS):
        try:
            replies.add(open_artifact(artifact, read(artifact.member)))
        except ReplyError as error:
            replies.gaps.append(unread(artifact, error))
    senders = Senders(replies)
    taken_at = _time_of_archive(manifest, read, senders, written)
    replies.gaps += lacking(manifest, {reply.artifact.node for reply in replies if reply.has_jetstream is False})
    singles = ((artifact, read(artifact.member)) for artifact in manifest.of_type(STREAM_INFO))
    jetstream = ArchivedJetStream(manifest, replies, senders, singles, taken_at)
    bodies = (*_unchanged(replies, senders), *_connections(replies, senders), *jetstream.bodies())
    elapsed, earlier = jetstream.earlier()
    if not earlier:
        return (Sample(taken_at, _exchanges(bodies, taken_at), (*replies.gaps, ONE_SAMPLE)),)
    first = Sample(taken_at - elapsed, _exchanges(earlier, taken_at - elapsed))
    return first, Sample(taken_at, _exchanges(bodies, taken_at), (*replies.gaps, SERVERS_ONCE))


def _exchanges(bodies: Iterable[Body], at: datetime) -> tuple[Exchange, ...]:
    return tuple(
        Exchange(Access.SYSTEM, endpoint, f"{endpoint.value} of {node[1]} ({origin})", at, 0, body)
        for endpoint, node, origin, body in bodies
    )


def _time_of_archive(
    manifest: ArchiveManifest, read: Callable[[str], bytes], senders: Senders, written: datetime | None
) -> datetime:
    metadata = _Metadata()
    if manifest.metadata:
        try:
            metadata = decode(read(manifest.metadata), _Metadata)
        except ReplyError as error:
            raise BundleError(f"{manifest.metadata} cannot be read: {error}") from error
    known = (metadata.capture_timestamp or senders.latest(), written)
    captured_at = next((moment for moment in known if moment is not None and moment.year in YEARS), None)
    if captured_at is None:
        raise BundleError("nothing in it shows when it was gathered")
    return captured_at


def _body_of(endpoint: Endpoint, reply: ArchivedReply, senders: Senders) -> Body:
    body = reply.whole if reply.enveloped else sealed(senders.identity(reply.artifact.node), reply.data)
    return endpoint, reply.artifact.node, reply.artifact.member, body


def _unchanged(replies: Replies, senders: Senders) -> Iterator[Body]:
    for kind, endpoint in _UNCHANGED.items():
        yield from (_body_of(endpoint, reply, senders) for reply in replies.of_type(kind))


def _connections(replies: Replies, senders: Senders) -> Iterator[Body]:
    """The connections of each server, from all pages. Pages may overlap, so they are joined by `cid`."""
    for node, pages in replies.pages(CONNECTIONS):
        if len(pages) == 1:
            yield _body_of(Endpoint.CONNZ, pages[0][0], senders)
            continue
        texts: dict[int, msgspec.Raw] = {}
        for reply, fields in pages:
            try:
                listed = decode(fields.get("connections", msgspec.Raw(b"[]")), tuple[msgspec.Raw, ...])
                texts |= {decode(connection, _Connection).cid: connection for connection in listed}
            except ReplyError as error:
                replies.gaps.append(unread(reply.artifact, error))
        data = pages[0][1] | {"connections": encoded(list(texts.values()))}
        yield Endpoint.CONNZ, node, pages[0][0].artifact.member, sealed(senders.identity(node), data)
