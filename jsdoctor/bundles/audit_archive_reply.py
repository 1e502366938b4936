"""One artifact of an archive of `nats audit gather` as the reply of a server, with or without its envelope.

Since natscli 0.2.0 an artifact is the reply as the server sent it; 0.1.x kept only the `data` part, and of a stream
every version keeps only what its server showed of it (jsm.go: audit/gather/gather.go).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from jsdoctor.bundles.audit_archive_manifest import Artifact, Node, unread
from jsdoctor.model.gap import Gap
from jsdoctor.model.reported import Instant
from jsdoctor.replies.decoding import ReplyError, ServerIdentity, decode

Fields = dict[str, msgspec.Raw]


class _ArchivedEnvelope(msgspec.Struct, frozen=True):
    server: ServerIdentity | None = None
    data: msgspec.Raw = msgspec.Raw()


class _Bare(msgspec.Struct, frozen=True):
    """The fields of a reply without envelope that identify its server. VARZ has all, others have some."""

    server_id: str = ""
    version: str = ""
    now: Instant | None = None


class ArchivedReply(msgspec.Struct, frozen=True):
    """An artifact that could be read. `whole` is its content, `data` the reply of the server, `sender` that server.

    `has_jetstream`: from the envelope; None without one.
    """

    artifact: Artifact
    whole: bytes
    data: msgspec.Raw
    sender: ServerIdentity
    enveloped: bool
    has_jetstream: bool | None = None

    def fields(self) -> Fields:
        """The keys of the server's reply. Raises ReplyError."""
        return decode(self.data, dict[str, msgspec.Raw])


def open_artifact(artifact: Artifact, content: bytes) -> ArchivedReply:
    """The reply in an artifact. Raises ReplyError if it cannot be read."""
    envelope = decode(content, _ArchivedEnvelope)
    if envelope.server is None:
        data = envelope.data if bytes(envelope.data) else msgspec.Raw(content)
        bare = decode(data, _Bare)
        sender = ServerIdentity(artifact.server, bare.server_id, artifact.cluster, bare.version, bare.now)
        return ArchivedReply(artifact, content, data, sender, enveloped=False)
    if not bytes(envelope.data):
        raise ReplyError("it holds no data")
    sender = ServerIdentity(**{name: getattr(envelope.server, name) for name in ServerIdentity.__struct_fields__})
    return ArchivedReply(
        artifact, content, envelope.data, sender, enveloped=True, has_jetstream=envelope.server.jetstream
    )


class Replies:
    """All replies of an archive by type, and the gaps that reading them left."""

    def __init__(self, gaps: list[Gap]) -> None:
        self.gaps = gaps
        self._by_type: dict[str, list[ArchivedReply]] = defaultdict(list)

    def __iter__(self) -> Iterator[ArchivedReply]:
        return (reply for replies in self._by_type.values() for reply in replies)

    def add(self, reply: ArchivedReply) -> None:
        """Add a reply. Pages must be added in order."""
        self._by_type[reply.artifact.type].append(reply)

    def of_type(self, kind: str) -> list[ArchivedReply]:
        """The replies of a type."""
        return self._by_type.get(kind, [])

    def pages(self, kind: str) -> Iterator[tuple[Node, list[tuple[ArchivedReply, Fields]]]]:
        """The pages of each server that are objects, at least one each. Others become gaps."""
        by_node: dict[Node, list[tuple[ArchivedReply, Fields]]] = defaultdict(list)
        for reply in self.of_type(kind):
            try:
                page = (reply, reply.fields())
            except ReplyError as error:
                self.gaps.append(unread(reply.artifact, error))
            else:
                by_node[reply.artifact.node].append(page)
        yield from by_node.items()


class Senders:
    """Identity and latest time of each server, from all of its replies in an archive."""

    def __init__(self, replies: Iterable[ArchivedReply]) -> None:
        by_node: dict[Node, list[ArchivedReply]] = defaultdict(list)
        for reply in replies:
            by_node[reply.artifact.node].append(reply)
        self._known: Mapping[Node, ServerIdentity] = {node: _joined(replies) for node, replies in by_node.items()}
        self._by_name: dict[str, list[Node]] = defaultdict(list)
        for node in self._known:
            self._by_name[node[1]].append(node)

    def node(self, named: Node) -> Node:
        """The known server that labels mean. Labels of a stream may have another name for the server's cluster."""
        same_name = self._by_name.get(named[1], ())
        return same_name[0] if named not in self._known and len(same_name) == 1 else named

    def identity(self, node: Node) -> ServerIdentity:
        """The server, with the latest time in its replies."""
        return self._known.get(node) or ServerIdentity(name=node[1], cluster=node[0])

    def latest(self) -> datetime | None:
        """The latest time in the replies of any server."""
        return max((identity.time for identity in self._known.values() if identity.time), default=None)


def sealed(sender: ServerIdentity, data: object) -> bytes:
    """A reply as servers send it, of that sender."""
    return msgspec.json.encode({"server": sender, "data": data})


def encoded(value: object) -> msgspec.Raw:
    """A value as JSON that can be a part of other JSON."""
    return msgspec.Raw(msgspec.json.encode(value))


def _joined(replies: Iterable[ArchivedReply]) -> ServerIdentity:
    server_identities = [reply.sender for reply in replies]

    def first(field: str) -> str:
        return next((value for identity in server_identities if (value := getattr(identity, field))), "")

    return ServerIdentity(
        name=server_identities[0].name,
        id=first("id"),
        cluster=server_identities[0].cluster,
        ver=first("ver"),
        time=max((identity.time for identity in server_identities if identity.time), default=None),
    )
