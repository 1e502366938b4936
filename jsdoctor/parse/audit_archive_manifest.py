"""The index of an archive of `nats audit gather`: the kind of each member, by its labels and never by its path.

Written with one page for each reply since natscli 0.2.3, without pages before (jsm.go: audit/archive/SPEC.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from jsdoctor.model.typed import decode_as
from jsdoctor.parse.bundle import BundleError

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
    """All that rules can use, pages in order. `metadata`: the member with the time of the archive; empty without one.

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
    """The index of the archive that holds `members`. Raises BundleError for what is none, or lists nothing of use."""
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
