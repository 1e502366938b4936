"""Desired state as files declare it: streams, consumers and servers before they are deployed, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.server_defaults import consumer_as_stored, stream_as_stored
from jsdoctor.model.setting import rows
from jsdoctor.model.sidecar import Sidecar


class FilePosition(msgspec.Struct, frozen=True, gc=False):
    """The position of a value in a file. Lines and columns count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def shows(self, value: object) -> Observation:
        """The value at this position, as evidence: formats that point at lines find it by this path."""
        return Observation(source=self.file, path=f"line {self.line}, column {self.column}", value=value)


class Mistake(msgspec.Struct, frozen=True):
    """A field that the tool or the server will refuse, or (`ignored`) will drop without a message.

    `unsure`: a newer version of the tool may know it.
    """

    place: FilePosition
    says: str
    ignored: bool = False
    unsure: bool = False


class Tool(StrEnum):
    """The tool that applies a manifest: it decides what is sent for fields that the manifest leaves out."""

    NACK = "NACK"
    NATS_CLI = "nats"
    TERRAFORM = "Terraform"


class PlannedAction(StrEnum):
    """What the tool will do with an asset. Only a Terraform plan states more than that it shall exist."""

    KEPT = "kept"
    REPLACED = "replaced"
    DELETED = "deleted"


class DeclaredAsset(msgspec.Struct, frozen=True, kw_only=True):
    """A stream or consumer of a manifest, and where in it each field is stated."""

    tool: Tool
    what: str
    place: FilePosition
    account: str = ""
    places: Mapping[str, FilePosition] = {}
    mistakes: tuple[Mistake, ...] = ()
    may_update: bool = True
    planned_action: PlannedAction = PlannedAction.KEPT
    unknown: frozenset[str] = frozenset()
    """Fields whose values are not known before the tool has run."""
    unread: frozenset[str] = frozenset()
    """Fields that the file states and whose values are not in `config`."""

    def at(self, *fields: str) -> FilePosition:
        """Where the first of these fields is stated, else where the asset begins."""
        return next((self.places[field] for field in fields if field in self.places), self.place)

    def states(self, field: str) -> bool:
        """Whether the manifest itself states this field."""
        return field in self.places

    def shows(self, field: str, value: object) -> Observation:
        """A field as evidence, at the line that states it, or at the asset's own when nothing does."""
        return self.at(field).shows(f"{field}: {value}" if self.states(field) else f"{field} is not set: {value}")


class DeclaredStream(DeclaredAsset, frozen=True, kw_only=True):
    """A stream, key-value bucket or object store of a manifest.

    `config` is what the tool sends when it creates the stream. `places` maps each field of the server's configuration
    (`max_age`) to the position that states it; a field that is not in it has a default. `kept_when_unset` names
    attributes that the tool leaves as the server has them when the manifest has no value for them.
    """

    config: StreamConfig
    kept_when_unset: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The stream's name on the server."""
        return self.config.name

    @property
    def subject(self) -> Subject:
        """This stream as the subject of a finding."""
        return Subject(kind="stream", name=self.config.name, account=self.account)

    @property
    def stored(self) -> StreamConfig:
        """The configuration as a server stores it when it creates the stream."""
        return stream_as_stored(self.config)

    def asked(self, current: StreamConfig) -> StreamConfig:
        """The configuration that the tool sends when the stream is there already."""
        kept = {name: getattr(current, name) for name in self.kept_when_unset if not getattr(self.config, name)}
        return msgspec.structs.replace(self.config, **kept | unread_values(self, current))

    def after_update(self, current: StreamConfig, release: tuple[int, ...] = ()) -> StreamConfig:
        """The configuration as a server of this release stores it when the stream is there already."""
        return stream_as_stored(self.asked(current), release)


def unread_values(declared: DeclaredAsset, current: StreamConfig | ConsumerConfig) -> dict[str, Any]:
    """The deployed values of fields that the manifest states and jsdoctor does not read: no change is claimed."""
    names = declared.unread | ({"allow_msg_ttl"} if "subject_delete_marker_ttl" in declared.unread else set())
    return {row.attribute: getattr(current, row.attribute) for row in rows(type(current)) if row.name in names}


class DeclaredConsumer(DeclaredAsset, frozen=True, kw_only=True):
    """A consumer of a manifest. `stream` is empty where the file does not say to which stream it belongs."""

    stream: str
    config: ConsumerConfig

    @property
    def name(self) -> str:
        """The consumer's name; empty when the server will make one up."""
        return self.config.durable_name or self.config.name

    @property
    def subject(self) -> Subject:
        """This consumer as the subject of a finding; one without a name is named by its file."""
        name = self.name or f"{self.place.file}:{self.place.line}"
        return Subject(kind="consumer", name=name, account=self.account, stream=self.stream)

    @property
    def stored(self) -> ConsumerConfig:
        """The configuration as a server stores it."""
        return consumer_as_stored(self.config)

    def asked(self, current: ConsumerConfig) -> ConsumerConfig:
        """The configuration that the tool sends when the consumer is there already."""
        return msgspec.structs.replace(self.config, **unread_values(self, current))


class DeclaredServers(msgspec.Struct, frozen=True, kw_only=True):
    """A nats-server configuration file, or the values of the official Helm chart: one server, or several equal ones.

    `settings` holds the settings by names of this project's own (see `manifests.server_config`); `places` their
    positions. `unclear` names settings that depend on what is not in the files: environment variables, secrets,
    patches. `config_map` is the ConfigMap or Secret that holds the configuration, in `namespace` if it names one.
    """

    what: str
    place: FilePosition
    name: str = ""
    config_map: str = ""
    namespace: str = ""
    settings: Mapping[str, Any] = {}
    places: Mapping[str, FilePosition] = {}
    mistakes: tuple[Mistake, ...] = ()
    unclear: frozenset[str] = frozenset()

    @property
    def is_chart(self) -> bool:
        """Whether these are values of the chart, which knows volumes and replicas."""
        return self.what == "Helm values"

    @property
    def subject(self) -> Subject:
        """These servers as the subject of a finding. Without a name of their own they are called by their file."""
        return Subject(kind="cluster" if self.is_chart else "server", name=self.name or self.place.file)

    def get(self, setting: str, default: Any = None) -> Any:
        """The value of a setting, else the default."""
        return self.settings.get(setting, default)

    def at(self, *settings: str) -> FilePosition:
        """Where the first of these settings is stated, else where the file begins."""
        return next((self.places[setting] for setting in settings if setting in self.places), self.place)

    def shows(self, setting: str, value: object) -> Observation:
        """A setting as evidence. Never for anything that may be a secret."""
        return self.at(setting).shows(value)


class DeclaredSidecar(msgspec.Struct, frozen=True, kw_only=True):
    """The proxy of a service mesh that a workload of servers will have in its pods."""

    place: FilePosition
    name: str
    sidecar: Sidecar

    @property
    def subject(self) -> Subject:
        """The servers as the subject of a finding."""
        return Subject(kind="server", name=self.name)


class DeclaredLogin(msgspec.Struct, frozen=True, kw_only=True):
    """An Account resource of NACK: how the controller logs in. Secrets are counted, never kept.

    `inline` names the keys under which a secret stands in the manifest itself.
    """

    place: FilePosition
    name: str
    inline: tuple[tuple[str, FilePosition], ...] = ()
    clear_text: tuple[tuple[str, FilePosition], ...] = ()
    """Servers that are reached without TLS, without their user info."""

    @property
    def subject(self) -> Subject:
        """The account as the subject of a finding."""
        return Subject(kind="account", name=self.name)


class ManifestFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was read: what was found in it, and what could not be read and why (empty: all was)."""

    path: str
    found: tuple[str, ...] = ()
    problem: str = ""
    place: FilePosition | None = None
    named: bool = False


class Manifests(Evidence, frozen=True, kw_only=True):
    """Everything that manifests declare."""

    unavailable = not_offered(
        "no manifests were given", "give what is to be deployed: --manifest PATH", kind="manifest"
    )

    files: tuple[ManifestFile, ...] = ()
    streams: tuple[DeclaredStream, ...] = ()
    consumers: tuple[DeclaredConsumer, ...] = ()
    servers: tuple[DeclaredServers, ...] = ()
    logins: tuple[DeclaredLogin, ...] = ()
    sidecars: tuple[DeclaredSidecar, ...] = ()
    subject_counts: Mapping[str, Mapping[str, int]] = {}
    """Messages by subject of deployed streams whose limit per subject is lowered, if they could be collected."""

    def kept_streams(self) -> Iterator[DeclaredStream]:
        """Streams that shall be there afterwards."""
        return (stream for stream in self.streams if stream.planned_action is not PlannedAction.DELETED)

    def kept_consumers(self) -> Iterator[DeclaredConsumer]:
        """Consumers that shall be there afterwards."""
        return (consumer for consumer in self.consumers if consumer.planned_action is not PlannedAction.DELETED)


class RunningConfigurations(Evidence, frozen=True, kw_only=True):
    """Configurations that servers have mounted now, as far as they could be read. No change is judged by them."""

    source = EvidenceSource.KUBERNETES
    unavailable = not_offered(
        "no configuration that servers have mounted was read from Kubernetes",
        "where the servers run in Kubernetes: --kube -n NAMESPACE, with `get` on configmaps",
        kind="kubernetes",
    )

    servers: tuple[DeclaredServers, ...]

    @property
    def manifests(self) -> Manifests:
        """For the checks of declared servers."""
        return Manifests(servers=self.servers)
