"""Every kind of evidence that a check may request, declared once: what collects it, and why it may be absent.

A new kind is a type in `jsdoctor.model.evidence`, its row here, and its parser in `jsdoctor.parse.assemble`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.clock import Clocks, NtpTime
from jsdoctor.model.connections import Connections
from jsdoctor.model.defect import KnownDefects
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.history import History
from jsdoctor.model.host import HostFacts
from jsdoctor.model.kubernetes import KubernetesFacts
from jsdoctor.model.links import Links
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests, RunningConfigurations
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.server_past import ServerPast
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.suppression import Suppressions
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import Trend


class EvidenceSource(StrEnum):
    """A source of evidence, the cheapest first."""

    LIVE = "live"
    TREND = "trend"
    SYSTEM = "system"
    SCAN = "scan"
    EXPECTED = "expected"
    ACKS = "acks"
    LOGS = "logs"
    HISTORY = "history"
    PACKETS = "packets"
    NTP = "ntp"
    HOST = "host"
    KUBERNETES = "kubernetes"


class CollectionFacts(NamedTuple):
    """What is known of a collection when a kind of evidence is missing.

    `samples` is the number of samples taken, `snapshots` the number of those that contain streams. `plain`: only
    logins of plain accounts got replies.
    """

    samples: int = 0
    snapshots: int = 0
    plain: bool = False
    asked_ntp: bool = False
    scanned: bool = False


class EvidenceKind(NamedTuple):
    """One kind of evidence: what collects it, and the gap that explains its absence.

    `parts` are the parts of a `CollectionPlan` that collect it; `repeated`: it takes two samples. `absent` returns the
    gap if it is missing. `said_by`: kinds of gaps that were not requested, by which a source itself reports why the
    evidence is missing, the strongest last. `of_deployment`: it is missing for the same reason if no server responds at
    all. `endpoints`: replies that contain it and nothing of the streams and servers of a deployment.
    """

    kind: type[Evidence]
    absent: Callable[[CollectionFacts], Gap]
    source: EvidenceSource | None = None
    parts: tuple[str, ...] = ()
    repeated: bool = False
    said_by: tuple[str, ...] = ()
    of_deployment: bool = False
    endpoints: tuple[Endpoint, ...] = ()


def _not_offered(reason: str, how_to_get: str, kind: str = "access") -> Gap:
    return Gap(kind=kind, subject=CLUSTER, reason=reason, how_to_get=how_to_get, requested=False)


NOTHING_ANSWERED = _not_offered("no server responded", "see the message about the connection, and run again")
_PLAIN_ACCOUNT = _not_offered(
    "this login belongs to a plain account, which cannot see servers",
    "use a login of the system account, or add --monitor http://HOST:8222 for each server",
)
_NO_SERVERS = _not_offered("no server reported its own state", "use a login of the system account")
_NO_ACCOUNTS = _not_offered(
    "no reply showed how much of its limits any account uses",
    "use a login of an account with JetStream, or of the system account",
)
NO_CONNECTION = _not_offered("no client connection was made", "give --server or --context")
_NO_ASSETS = _not_offered(
    "no server reported its streams", "use a login of an account with JetStream, or of the system account"
)
_ONE_SAMPLE = _not_offered("a rate needs two samples and one was taken", "run with --samples 2 or more", kind="samples")

_NOT_REPORTED = _not_offered(
    "no server was queried, or none responded",
    "run again with a login of the system account; of captured evidence, capture it again",
)
_ONE_ANSWERED = _not_offered(
    "a rate needs two samples, and only one of them got a response",
    "see what could not be seen, and run again",
    kind="samples",
)


_NO_CLOCKS = _not_offered(
    "no server reported its time",
    'allow this login to ask "$SYS.REQ.USER.INFO"; of captured evidence, capture it again',
)
_NO_NTP = _not_offered(
    "no NTP server was queried, so it is not known which clock is right",
    "name one that this machine can reach, better three: --ntp HOST, or ntp = [...] in the configuration",
    kind="ntp",
)
_NTP_UNUSABLE = _not_offered(
    "no NTP server that was queried gave a reliable time", "see the message about each of them", kind="ntp"
)

_NO_HOST = _not_offered(
    "no host of a server was checked",
    "run jsdoctor on the host of a server with --host, as root",
    kind="host",
)
_NO_KUBERNETES = _not_offered(
    "Kubernetes was not queried",
    "where the servers run in Kubernetes: --kube -n NAMESPACE",
    kind="kubernetes",
)
_NO_CONFIGURATIONS = _not_offered(
    "no configuration that servers have mounted was read from Kubernetes",
    "where the servers run in Kubernetes: --kube -n NAMESPACE, with `get` on configmaps",
    kind="kubernetes",
)
_NO_SCAN = _not_offered(
    "no stream was named whose stored messages should be read",
    "name streams of the account of this login: --scan STREAM",
    kind="scan",
)
_SCAN_FAILED = _not_offered(
    "the stored messages of no stream that was named could be read", "see the message about each of them", kind="scan"
)

_NO_LOGS = _not_offered(
    "no logs were given", "give the logs of all servers: --logs PATH, or jsdoctor audit PATH", kind="logs"
)

_NO_HISTORY = _not_offered(
    "no earlier bundles of this deployment were given",
    "give the directory that jsdoctor capture writes them to: --history DIR",
    kind="history",
)

_NO_PAST = _not_offered(
    "neither metrics of servers over hours nor two earlier bundles of this deployment from the last 7 days were read",
    "give the Prometheus that keeps their metrics, --prometheus URL, or the directory of bundles, --history DIR",
    kind="history",
)

_NO_ACK_TIMES = _not_offered(
    "no consumer that was seen with a login of its account has its acknowledgements measured, or one sample was taken",
    "switch it on for a consumer (nats consumer edit STREAM CONSUMER --sample 100 -f) and look with --interval 30s",
    kind="metrics",
)

_NO_SUBJECTS = _not_offered(
    "no subjects of streams were requested: no filter or full subject of this account is in doubt, or the login is"
    " of another account",
    "use a login of the account that owns the stream",
)

_NO_MANIFESTS = _not_offered("no manifests were given", "give what is to be deployed: --manifest PATH", kind="manifest")

_NO_PACKETS = _not_offered(
    "no packet capture was given", "give captures of the connections in question: --pcap FILE", kind="pcap"
)

_NO_WAIVERS = _not_offered("nothing is waived", "waive with [[suppress]] in jsdoctor.toml", kind="configuration")

_NO_DEFECTS = _not_offered("the list of known defects was not read", "run jsdoctor check", kind="configuration")


def _always(gap: Gap) -> Callable[[CollectionFacts], Gap]:
    return lambda _: gap


def _of_servers(otherwise: Gap) -> Callable[[CollectionFacts], Gap]:
    """A plain account cannot see servers."""
    return lambda collected: _PLAIN_ACCOUNT if collected.plain else otherwise


def _trend(collected: CollectionFacts) -> Gap:
    return _too_few(collected) if collected.snapshots else _NO_ASSETS


def _server_trend(collected: CollectionFacts) -> Gap:
    return _PLAIN_ACCOUNT if collected.plain else _too_few(collected)


def _too_few(collected: CollectionFacts) -> Gap:
    return _ONE_ANSWERED if collected.samples > 1 else _ONE_SAMPLE


def _ntp(collected: CollectionFacts) -> Gap:
    return _NTP_UNUSABLE if collected.asked_ntp else _NO_NTP


def _scan(collected: CollectionFacts) -> Gap:
    return _SCAN_FAILED if collected.scanned else _NO_SCAN


_ASSETS = ("assets", "consumers")
_REPORTED = _of_servers(_NOT_REPORTED)
_SYSTEM = EvidenceSource.SYSTEM

DECLARED: tuple[EvidenceKind, ...] = (
    EvidenceKind(SnapshotSeries, _always(_NO_ASSETS), parts=_ASSETS, said_by=("assets",), of_deployment=True),
    EvidenceKind(
        Trend,
        _trend,
        EvidenceSource.TREND,
        parts=_ASSETS,
        repeated=True,
        said_by=("samples", "assets"),
        of_deployment=True,
    ),
    EvidenceKind(
        Servers, _of_servers(_NO_SERVERS), _SYSTEM, parts=("servers",), said_by=("servers",), of_deployment=True
    ),
    EvidenceKind(
        ServerTrend,
        _server_trend,
        _SYSTEM,
        parts=("servers", "server_rates"),
        repeated=True,
        said_by=("samples", "server_samples", "servers"),
        of_deployment=True,
    ),
    EvidenceKind(RaftGroups, _REPORTED, _SYSTEM, parts=("raft",), repeated=True, said_by=("raft",), of_deployment=True),
    EvidenceKind(Connections, _REPORTED, _SYSTEM, parts=("connections",), said_by=("connections",), of_deployment=True),
    EvidenceKind(Links, _REPORTED, _SYSTEM, parts=("links",), said_by=("links",), of_deployment=True),
    EvidenceKind(Topology, _of_servers(_NO_SERVERS), _SYSTEM, parts=("servers", "links"), of_deployment=True),
    EvidenceKind(AccountClaims, _REPORTED, _SYSTEM, parts=("claims",), said_by=("claims",), of_deployment=True),
    # A plain account reports its own limits and usage, so this is no sign of the system account.
    EvidenceKind(Accounts, _always(_NO_ACCOUNTS), parts=("accounts",), said_by=("accounts",), of_deployment=True),
    EvidenceKind(ConnectedServer, _always(NO_CONNECTION), endpoints=(Endpoint.CONNECT_INFO,)),
    EvidenceKind(Clocks, _always(_NO_CLOCKS), parts=("clocks",)),
    EvidenceKind(NtpTime, _ntp, EvidenceSource.NTP, parts=("ntp",), endpoints=(Endpoint.NTP,)),
    EvidenceKind(LogEvidence, _always(_NO_LOGS), EvidenceSource.LOGS),
    EvidenceKind(History, _always(_NO_HISTORY), EvidenceSource.HISTORY, parts=_ASSETS),
    EvidenceKind(ServerPast, _always(_NO_PAST), EvidenceSource.HISTORY),
    EvidenceKind(AckTimes, _always(_NO_ACK_TIMES), EvidenceSource.ACKS, parts=(*_ASSETS, "ack_metrics"), repeated=True),
    EvidenceKind(NearSubjects, _always(_NO_SUBJECTS), parts=("near_subjects",)),
    EvidenceKind(Manifests, _always(_NO_MANIFESTS)),
    EvidenceKind(PacketEvidence, _always(_NO_PACKETS), EvidenceSource.PACKETS, endpoints=(Endpoint.PACKETS,)),
    EvidenceKind(HostFacts, _always(_NO_HOST), EvidenceSource.HOST, parts=("host",), endpoints=(Endpoint.HOST,)),
    EvidenceKind(KubernetesFacts, _always(_NO_KUBERNETES), EvidenceSource.KUBERNETES, endpoints=(Endpoint.KUBERNETES,)),
    EvidenceKind(RunningConfigurations, _always(_NO_CONFIGURATIONS), EvidenceSource.KUBERNETES),
    EvidenceKind(KnownDefects, _always(_NO_DEFECTS)),
    EvidenceKind(Suppressions, _always(_NO_WAIVERS)),
    EvidenceKind(StoredMessages, _scan, EvidenceSource.SCAN, parts=("scan",)),
)
"""All kinds but `Gaps`, which are always there."""

BY_KIND: Mapping[type[Evidence], EvidenceKind] = {kind.kind: kind for kind in DECLARED}
