"""Servers as they report themselves: variables, JetStream, health and the meta group (server: monitor.go)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Self

import msgspec

from jsdoctor.model.evidence import GAPS_OF_ASSETS, NO_SERVERS, Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.reported import Reported, sent

UNLIMITED = 1 << 63
"""Sizes at or past this value are how the server prints "no limit" (an unsigned -1); treat them as no limit."""


class ApiStats(msgspec.Struct, frozen=True, gc=False):
    """JetStream API calls since the server started. Publish rejections are not counted here."""

    level: int | None = None
    total: int = sent(0)
    errors: int = sent(0)
    inflight: int = 0


class AccountCalls(Reported, frozen=True, gc=False):
    """JetStream API calls of one account that a server has responded to, since its start."""

    account: str
    api: ApiStats = ApiStats()


class JetStreamConfig(msgspec.Struct, frozen=True, gc=False):
    """JetStream settings of one server. `strict`: it refuses requests with unknown fields (from 2.12 on)."""

    max_memory: int = sent(0)
    max_storage: int = sent(0)
    store_dir: str = ""
    domain: str = ""
    sync_interval_ns: int = msgspec.field(name="sync_interval", default=0)
    sync_always: bool = False
    unique_tag: str = ""
    strict: bool = False


class MetaGroup(msgspec.Struct, frozen=True):
    """The meta group as one server sees it. No `leader`: that server knows none.

    `cluster_size` counts every peer that was ever added and not removed, unreachable ones too. `rescue`: its quorum is
    lowered to `quorum_needed` for a while (from 2.15 on).
    """

    name: str = ""
    leader: str = ""
    peer: str = ""
    replicas: tuple[Peer, ...] = ()
    cluster_size: int = sent(0)
    pending: int = sent(0)
    rescue: bool = False
    quorum_needed: int = 0


class JetStreamStats(Reported, frozen=True):
    """JetStream of one server (jsz without account details). `reserved_storage` is the sum of max_bytes kept free."""

    disabled: bool = False
    config: JetStreamConfig | None = sent(None)
    memory: int = sent(0)
    storage: int = sent(0)
    reserved_memory: int = sent(0)
    reserved_storage: int = sent(0)
    accounts: int = sent(0)
    ha_assets: int = sent(0)
    api: ApiStats = sent(ApiStats())
    streams: int = sent(0)
    consumers: int = sent(0)
    messages: int = sent(0)
    bytes: int = sent(0)
    meta_cluster: MetaGroup | None = None


class RemoteGateway(msgspec.Struct, frozen=True):
    """A gateway to another cluster as configured."""

    name: str = sent("")


class DeniedSubjects(msgspec.Struct, frozen=True):
    """Subjects that a remote lets neither in (`imports`) nor out (`exports`) of the leaf node."""

    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()


class RemoteLeaf(msgspec.Struct, frozen=True):
    """A hub that a leaf node connects to, as configured: one connection of that account."""

    local_account: str = ""
    disabled: bool = False
    deny: DeniedSubjects = DeniedSubjects()


class ListenerOptions(msgspec.Struct, frozen=True):
    """The parts of a listener's options that rules look at. `gateways` are those named in the configuration,
    `remotes` the hubs of a leaf node, `urls` the addresses of routes, `cluster_port` the port for these.
    """

    name: str = ""
    port: int = 0
    cluster_port: int = 0
    tls_cert_not_after: datetime | None = None
    tls_required: bool = False
    gateways: tuple[RemoteGateway, ...] = ()
    remotes: tuple[RemoteLeaf, ...] = ()
    urls: tuple[str, ...] = ()


class SlowConsumers(msgspec.Struct, frozen=True, gc=False):
    """Slow-consumer counts since the server started, by kind of connection."""

    clients: int = sent(0)
    routes: int = sent(0)
    gateways: int = sent(0)
    leafs: int = sent(0)


class JetStreamDefaults(msgspec.Struct, frozen=True, gc=False):
    """Limits of a server for its streams; 0: none. `default_max_consumers`: of a stream that states none (2.15).

    `max_ha_assets`: streams and consumers with replicas from which it takes no further stream.
    """

    default_max_consumers: int = 0
    max_ha_assets: int = 0


class JetStreamVarz(msgspec.Struct, frozen=True, gc=False):
    """The part of a server's variables about JetStream that `jsz` lacks."""

    limits: JetStreamDefaults | None = None


class Varz(Reported, frozen=True):
    """General variables of one server.

    `cpu`: percent of one core; `gomaxprocs`: cores it may use; `gomemlimit`: soft memory limit in bytes. 0: not
    reported, or no limit.
    """

    server_id: str = sent("")
    server_name: str = sent("")
    version: str = sent("")
    start: datetime | None = sent(None)
    now: datetime | None = sent(None)
    auth_required: bool = False
    tls_required: bool = False
    tls_verify: bool = False
    max_connections: int = sent(0)
    max_payload: int = sent(0)
    connections: int = sent(0)
    total_connections: int = sent(0)
    subscriptions: int = sent(0)
    mem: int = sent(0)
    cpu: float = sent(0.0)
    cores: int = sent(0)
    slow_consumers: int = sent(0)
    slow_consumer_stats: SlowConsumers | None = sent(None)
    config_load_time: datetime | None = sent(None)
    system_account: str = ""
    trusted_operators_jwt: tuple[str, ...] = ()
    cluster: ListenerOptions | None = sent(None)
    host: str = sent("")
    tls_cert_not_after: datetime | None = None
    max_subscriptions: int = 0
    gomaxprocs: int = sent(0)
    gomemlimit: int = 0
    gateway: ListenerOptions | None = sent(None)
    leaf: ListenerOptions | None = sent(None)
    mqtt: ListenerOptions | None = sent(None)
    websocket: ListenerOptions | None = sent(None)
    jetstream: JetStreamVarz | None = sent(None)
    tags: tuple[str, ...] = ()
    max_pending: int = sent(0)
    max_control_line: int = sent(0)
    write_deadline_ns: int = sent(0, name="write_deadline")


class HealthError(msgspec.Struct, frozen=True):
    """A reason for a failed health check. `type`: CONNECTION, BAD_REQUEST, JETSTREAM, ACCOUNT, STREAM or CONSUMER."""

    type: str = sent("")
    error: str = ""
    account: str = ""
    stream: str = ""
    consumer: str = ""


class Health(Reported, frozen=True):
    """A server's own health check. It is local: it covers no other servers and no assets placed elsewhere."""

    status: str = sent("")
    status_code: int = 0
    error: str = ""
    errors: tuple[HealthError, ...] = ()


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """All data of one server; parts are None if that endpoint was not read. `at` is the server's clock.

    `name` is unique among the servers of a run: of two with the same configured name, the one outside the main domain
    has its domain added, and two of one domain have the start of their ids added. `domain` labels the JetStream domain
    uniquely: the configured domain, empty for the only one without a name, else with its cluster or server added.
    """

    name: str
    server_id: str = ""
    cluster: str = ""
    domain: str = ""
    version: str = ""
    at: datetime
    varz: Varz | None = None
    jetstream: JetStreamStats | None = None
    health: Health | None = None
    calls: tuple[AccountCalls, ...] = ()

    @property
    def subject(self) -> Subject:
        """This server as the subject of a finding."""
        return Subject(kind="server", name=self.name)

    @property
    def shares_its_name(self) -> bool:
        """Whether another server of its domain has its configured name: lists of members then mean either (JSD722)."""
        return self.varz is not None and self.name.startswith(f"{self.varz.server_name}#")

    @property
    def meta(self) -> MetaGroup | None:
        """The meta group as this server sees it; None on a single server or without JetStream."""
        return self.jetstream.meta_cluster if self.jetstream else None

    def observed(self, path: str, value: object) -> Observation:
        """A value of this server as evidence."""
        return Observation(source=self.name, path=path, value=value, at=self.at)


class Servers(Evidence, frozen=True):
    """Every server that responded. Needs the system account or monitoring endpoints.

    `complete` is True if the whole cluster was queried (system account); monitoring shows only the servers named.
    `earlier` holds the servers of each sample before the last, oldest first: intermittent states are judged by all
    samples.
    """

    source = EvidenceSource.SYSTEM
    parts = ("servers",)
    unavailable = NO_SERVERS
    said_by = ("servers",)
    of_deployment = True

    servers: tuple[Server, ...]
    complete: bool = False
    earlier: tuple[tuple[Server, ...], ...] = ()

    @property
    def samples(self) -> tuple[tuple[Server, ...], ...]:
        """The servers of every sample, oldest first."""
        return (*self.earlier, self.servers)

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.name for server in self.servers)

    def without(self, subject: Subject) -> Self:
        """The same without that server."""
        kept = tuple(server for server in self.servers if server.name != subject.name)
        return self if len(kept) == len(self.servers) else msgspec.structs.replace(self, servers=kept)


class ConnectedServer(Evidence, Reported, frozen=True):
    """The INFO of the connected server, which any client receives.

    `connect_urls` are the client addresses of all servers of the cluster; empty if they are not advertised.
    """

    unavailable = not_offered("no client connection was made", "give --server or --context")
    endpoints = (Endpoint.CONNECT_INFO,)

    server_name: str = sent("")
    version: str = sent("")
    cluster: str = ""
    host: str = sent("")
    port: int = sent(0)
    max_payload: int = sent(0)
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    jetstream: bool = False
    domain: str = ""
    connect_urls: tuple[str, ...] = ()

    @property
    def servers_at_least(self) -> int:
        """How many servers its addresses prove. One server gives an address for each of its interfaces."""
        ports: dict[str, set[str]] = {}
        for address in self.connect_urls:
            host, _, port = address.rpartition(":")
            ports.setdefault(host, set()).add(port)
        return max(map(len, ports.values()), default=0)


class AccountLimits(msgspec.Struct, frozen=True, gc=False):
    """JetStream limits of an account or tier; -1 means none, and of `…_max_stream_bytes` 0 does, too."""

    max_memory: int = sent(-1)
    max_storage: int = sent(-1)
    max_streams: int = sent(-1)
    max_consumers: int = sent(-1)
    memory_max_stream_bytes: int = sent(-1)
    storage_max_stream_bytes: int = sent(-1)
    max_bytes_required: bool = sent(False)


class Tier(Reported, frozen=True):
    """Usage and limits of one replication tier of an account (`R1`, `R3`), or of the account as a whole (name "")."""

    name: str = ""
    memory: int = sent(0)
    storage: int = sent(0)
    reserved_memory: int = sent(0)
    reserved_storage: int = sent(0)
    streams: int = sent(0)
    consumers: int = sent(0)
    limits: AccountLimits = sent(AccountLimits())

    @property
    def copies(self) -> int:
        """By how much a limit of bytes is multiplied: `storage` counts each copy (server: wouldExceedLimits)."""
        number = self.name.removeprefix("R")
        return int(number) if number.isdigit() else 1


class Account(msgspec.Struct, frozen=True):
    """JetStream usage of one account in one JetStream domain.

    `domain` as in `Server`, empty if no server reported it.
    """

    name: str
    tiers: tuple[Tier, ...]
    at: datetime
    source: str = ""
    domain: str = ""

    @property
    def subject(self) -> Subject:
        """This account as the subject of a finding."""
        return Subject(kind="account", name=self.name)


class Accounts(Evidence, frozen=True):
    """Usage of every account that could be seen."""

    parts = ("accounts",)
    unavailable = not_offered(
        "no reply showed how much of its limits any account uses",
        "use a login of an account with JetStream, or of the system account",
    )
    said_by = ("accounts",)
    of_deployment = True
    left_out_by = GAPS_OF_ASSETS

    accounts: tuple[Account, ...]
