"""The index of an archive of `nats audit gather`: the kind of each member, by its labels and never by its path.

Written with one page for each reply since natscli 0.2.3, without pages before (jsm.go: audit/archive/SPEC.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import msgspec

from jsdoctor.bundles.bundle import BundleError
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as
from jsdoctor.model.wording import counted
from jsdoctor.replies.decoding import ReplyError

ARCHIVE_MANIFEST = "capture/misc/manifest.json"
METADATA = "audit_gather_metadata"
STREAM_INFO = "stream_info"
ACCOUNT_USAGE = "account_jetstream_info"
ACCOUNT_INFO = "account_info"
ACCOUNT_RAFT = "account_raftz"
VARIABLES = "variables"
JETSTREAM = "jetstream_info"
HEALTH = "health"
CONNECTIONS = "connections"
GATEWAYS = "gateways"
LEAFS = "leafs"
ROUTES = "routes"
OF_SERVERS = (VARIABLES, JETSTREAM, HEALTH, CONNECTIONS, GATEWAYS, LEAFS, ROUTES)
OF_ACCOUNTS = (ACCOUNT_INFO, ACCOUNT_USAGE, ACCOUNT_RAFT)
_UNCLUSTERED = "unclustered"

Node = tuple[str, str]
"""A server: its cluster, empty for none, and its name."""


class _Tag(msgspec.Struct, frozen=True, gc=False):
    label: str = msgspec.field(name="Name", default="")
    value: str = msgspec.field(name="Value", default="")


class Artifact(msgspec.Struct, frozen=True, gc=False):
    """One reply, or one page of one: the name of its member, and its labels."""

    member: str
    type: str
    cluster: str = ""
    server: str = ""
    account: str = ""
    stream: str = ""

    @property
    def node(self) -> Node:
        """The server that replied."""
        return self.cluster, self.server


class ArchiveManifest(msgspec.Struct, frozen=True):
    """The artifacts that rules can use, pages in order. `metadata`: the member with the time of the archive, if any.

    `missing` are artifacts that are listed and not there, `stray` members that are there and not listed.
    """

    artifacts: tuple[Artifact, ...]
    metadata: str
    missing: tuple[Artifact, ...]
    stray: tuple[str, ...]

    @property
    def wanted(self) -> list[str]:
        """The members to read."""
        return [*([self.metadata] if self.metadata else []), *(artifact.member for artifact in self.artifacts)]

    def of_type(self, *types: str) -> Iterator[Artifact]:
        """The artifacts of some types, sorted by member."""
        return (artifact for artifact in self.artifacts if artifact.type in types)


def decode_archive_manifest(raw: bytes, members: Collection[str]) -> ArchiveManifest:
    """The index of the archive that holds `members`. Raises BundleError if it is none, or lists nothing of use."""
    try:
        listed = decode_as(raw, dict[str, tuple[_Tag, ...]])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{ARCHIVE_MANIFEST} cannot be read: {error}") from error
    artifacts: list[Artifact] = []
    metadata = ""
    for member, tags in sorted(listed.items()):
        labels = {tag.label: tag.value for tag in tags}
        if len(labels) < len(tags):
            raise BundleError(f"{ARCHIVE_MANIFEST} gives {member[:80]!r} a label twice")
        if labels.get("special") == METADATA and member in members:
            metadata = member
        elif artifact := _artifact(member, labels):
            artifacts.append(artifact)
    if not artifacts:
        raise BundleError(f"{ARCHIVE_MANIFEST} lists no reply of any server that a rule could use")
    return ArchiveManifest(
        artifacts=tuple(artifact for artifact in artifacts if artifact.member in members),
        metadata=metadata,
        missing=tuple(artifact for artifact in artifacts if artifact.member not in members),
        stray=tuple(sorted(set(members) - listed.keys() - {ARCHIVE_MANIFEST})),
    )


def _artifact(member: str, labels: dict[str, str]) -> Artifact | None:
    kind, server = labels.get("artifact_type", ""), labels.get("server", "")
    account, stream = labels.get("account", ""), labels.get("stream", "")
    complete = (
        (kind in OF_SERVERS and not account)
        or (kind in OF_ACCOUNTS and bool(account))
        or (kind == STREAM_INFO and bool(account and stream))
    )
    if not server or not complete:
        return None
    cluster = labels.get("cluster", "")
    return Artifact(member, kind, "" if cluster == _UNCLUSTERED else cluster, server, account, stream)


_MAX_SHOWN = 3
_REPLY_NAMES = {
    VARIABLES: "general variables (VARZ)",
    JETSTREAM: "JetStream (JSZ)",
    HEALTH: "health (HEALTHZ)",
    CONNECTIONS: "connections (CONNZ)",
    GATEWAYS: "gateways (GATEWAYZ)",
    LEAFS: "leaf nodes (LEAFZ)",
    ROUTES: "routes (ROUTEZ)",
}
_GATHER_AGAIN = "gather again: nats audit gather"
_SEE_LOG = "audit_gather_log.log in the archive has the reason; gather again, with a longer --timeout if it was late"

ONE_SAMPLE = Gap(
    kind="samples",
    subject=CLUSTER,
    reason="the archive shows each stream once, or twice within a second, and a rate needs two samples",
    how_to_get="gather without --no-server-profiles and --no-details, or capture: jsdoctor capture -o FILE.zip",
    requested=False,
)
SERVERS_ONCE = Gap(
    kind="server_samples",
    subject=CLUSTER,
    reason="the archive shows servers once, and a rate needs two samples",
    how_to_get="jsdoctor capture -o FILE.zip",
    requested=False,
)


def unlisted(manifest: ArchiveManifest) -> Iterator[Gap]:
    """Gaps for members that only the archive or only its index has."""
    if missing := [artifact.member for artifact in manifest.missing]:
        yield Gap(
            kind="reply",
            subject=Subject(kind="cluster", name="members of the archive"),
            reason=f"{_some_members(missing)} in the archive's manifest, and not in the archive",
            how_to_get=f"get the whole file, or {_GATHER_AGAIN}",
        )
    if manifest.stray:
        yield Gap(
            kind="note",
            subject=Subject(kind="cluster", name="members of the archive"),
            reason=f"{_some_members(manifest.stray)} not in the archive's manifest: ignored",
            how_to_get="",
            requested=False,
        )


def unfinished(manifest: ArchiveManifest) -> Iterator[Gap]:
    """The gap for an archive without metadata, which are written last. Other gaps report what was not gathered."""
    if not manifest.metadata:
        yield Gap(
            kind="note",
            subject=Subject(kind="cluster", name="the archive"),
            reason="nats audit gather ended early: the archive has no metadata, and may lack more",
            how_to_get="audit_gather_log.log in the archive has the reason",
            requested=False,
        )


def unread(artifact: Artifact, error: ReplyError) -> Gap:
    """The gap for an artifact that cannot be read."""
    return Gap(
        kind="reply",
        subject=Subject(kind="cluster", name=artifact.member),
        reason=f"the reply of {artifact.server} ({artifact.member}) cannot be read: {error}",
        how_to_get=_GATHER_AGAIN,
    )


def lacking(manifest: ArchiveManifest, without_jetstream: Collection[Node]) -> Iterator[Gap]:
    """Gaps for servers without a reply that others gave, and for kinds of replies that none gave."""
    present: dict[Node, set[str]] = defaultdict(set)
    for artifact in manifest.of_type(*OF_SERVERS):
        present[artifact.node].add(artifact.type)
    for artifact in manifest.missing:
        present[artifact.node].add(artifact.type)  # its gap exists already
    gathered = frozenset(kind for types in present.values() for kind in types)
    for node, types in sorted(present.items()):
        absent = [_REPLY_NAMES[kind] for kind in OF_SERVERS if kind in gathered and kind not in types]
        if node in without_jetstream:
            absent = [words for words in absent if words != _REPLY_NAMES[JETSTREAM]]
        if absent:
            subject = Subject(kind="server", name=node[1])
            yield Gap("endpoint", subject, f"{node[1]} gave nothing on: {', '.join(absent)}", _SEE_LOG)
    yield from _absent_kinds(gathered | {artifact.type for artifact in manifest.of_type(*OF_ACCOUNTS)})


def _absent_kinds(gathered: frozenset[str]) -> Iterator[Gap]:
    servers = "gather without --no-server-endpoints"
    if not gathered & {VARIABLES, HEALTH}:
        yield _absent("servers", "the archive holds nothing that servers report about themselves", servers)
    if CONNECTIONS not in gathered:
        yield _absent("connections", "the archive holds no connections", servers)
    if not gathered & {GATEWAYS, LEAFS}:
        yield _absent("links", "the archive holds no gateways and leaf nodes", servers)
    if ACCOUNT_INFO not in gathered:
        accounts = "gather without --no-account-endpoints"
        yield _absent("claims", "the archive holds nothing on single accounts", accounts)
    if ACCOUNT_RAFT not in gathered:
        how = "gather with nats 0.4.0 or later, without --no-account-endpoints"
        yield _absent("raft", "the archive holds no Raft groups", how)


def no_streams(manifest: ArchiveManifest) -> Gap:
    """The gap for an archive without streams, though servers have some, or do not report how many.

    natscli 0.5.0 fails on streams of servers that are in no cluster, after it has requested details.
    """
    if not manifest.metadata:
        how = "gather without --no-details; audit_gather_log.log in the archive has the reason it ended early"
        return Gap("assets", CLUSTER, "nats audit gather ended early, and the archive holds no streams", how)
    return _absent("assets", "the archive holds no streams", "gather without --no-streams, or without --no-details")


def no_accounts() -> Gap:
    """The gap for an archive without the usage of accounts."""
    return _absent("accounts", "the archive holds no usage of accounts", "gather without --no-account-endpoints")


def no_consumers(streams: Collection[str]) -> Gap:
    """The gap for streams whose consumers are not in the archive."""
    reason = f"the archive holds no consumers of {counted(len(streams), 'stream')} that have some ({_names(streams)})"
    return _absent("consumers", reason, "gather without --no-consumers")


def fewer_streams(in_archive: Mapping[Node, int], reported: Mapping[Node, int]) -> Iterator[Gap]:
    """Gaps for servers that report more streams than the archive shows of them."""
    for node, count in sorted(reported.items()):
        if (seen := in_archive.get(node, 0)) < count:
            yield Gap(
                kind="stream",
                subject=Subject(kind="server", name=node[1]),
                reason=f"{node[1]} reports {counted(count, 'stream')}, and the archive shows {seen}",
                how_to_get="gather without --no-details: only so are accounts seen that have no connections",
            )


def _absent(kind: str, reason: str, how_to_get: str) -> Gap:
    return Gap(kind=kind, subject=CLUSTER, reason=reason, how_to_get=how_to_get, requested=False)


def _some_members(members: Collection[str]) -> str:
    return f"{counted(len(members), 'member')} ({_names(members)}) {'is' if len(members) == 1 else 'are'}"


def _names(names: Collection[str]) -> str:
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return ", ".join(sorted(names)[:_MAX_SHOWN]) + more
