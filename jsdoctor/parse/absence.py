"""Why a kind of evidence is not there: what each access cannot show, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.clock import Clocks, NtpTime
from jsdoctor.model.connections import Connections
from jsdoctor.model.defect import KnownDefects
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.exchange import Access, Endpoint, Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.history import History
from jsdoctor.model.host import HostFacts
from jsdoctor.model.kubernetes import KubernetesFacts
from jsdoctor.model.links import Links
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.suppression import Suppressions
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import Trend


def _not_offered(reason: str, how_to_get: str, kind: str = "access") -> Gap:
    return Gap(kind=kind, subject=CLUSTER, reason=reason, how_to_get=how_to_get, requested=False)


_NOTHING = _not_offered("no server responded", "see the message about the connection, and run again")
_PLAIN_ACCOUNT = _not_offered(
    "this login belongs to a plain account, which cannot see servers",
    "use a login of the system account, or add --monitor http://HOST:8222 for each server",
)
_NO_SERVERS = _not_offered("no server reported its own state", "use a login of the system account")
_NO_ACCOUNTS = _not_offered(
    "no reply showed how much of its limits any account uses",
    "use a login of an account with JetStream, or of the system account",
)
_NO_CONNECTION = _not_offered("no client connection was made", "give --server or --context")
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
    "no host of a server was looked at",
    "run jsdoctor on the host of a server with --host, as root",
    kind="host",
)
_NO_KUBERNETES = _not_offered(
    "Kubernetes was not queried",
    "where the servers run in Kubernetes: --kube -n NAMESPACE",
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

NO_LOGS = _not_offered(
    "no logs were given", "give the logs of all servers: --logs PATH, or jsdoctor audit PATH", kind="logs"
)

NO_HISTORY = _not_offered(
    "no earlier bundles of this deployment were given",
    "give the directory that jsdoctor capture writes them to: --history DIR",
    kind="history",
)

_NO_ACK_TIMES = _not_offered(
    "no consumer that was seen with a login of its account has its acknowledgements measured, or one sample was taken",
    "switch it on for a consumer (nats consumer edit STREAM CONSUMER --sample 100 -f) and look with --interval 30s",
    kind="metrics",
)

_NO_SUBJECTS = _not_offered(
    "no subjects of streams were requested: no filter of this account is in doubt, or the login is of another account",
    "use a login of the account that owns the stream",
)

NO_MANIFESTS = _not_offered("no manifests were given", "give what is to be deployed: --manifest PATH", kind="manifest")

NO_PACKETS = _not_offered(
    "no packet capture was given", "give captures of the connections in question: --pcap FILE", kind="pcap"
)

_NO_WAIVERS = _not_offered("nothing is waived", "waive with [[suppress]] in jsdoctor.toml", kind="configuration")

_NO_DEFECTS = _not_offered("the list of known defects was not read", "run jsdoctor check", kind="configuration")

_ASSETS: tuple[type[Evidence], ...] = (SnapshotSeries, Trend)
_OF_SERVERS: tuple[type[Evidence], ...] = (
    *(Servers, ServerTrend, RaftGroups, Connections, Links, Topology, AccountClaims),
)
_OF_NO_ASSETS = (Endpoint.CONNECT_INFO, Endpoint.NTP, Endpoint.PACKETS, Endpoint.HOST, Endpoint.KUBERNETES)

_SAID_BY_SOURCE: dict[str, tuple[type[Evidence], ...]] = {
    "samples": (Trend, ServerTrend),
    "server_samples": (ServerTrend,),
    "assets": _ASSETS,
    "servers": (Servers, ServerTrend),
    "accounts": (Accounts,),
    "raft": (RaftGroups,),
    "connections": (Connections,),
    "links": (Links,),
    "claims": (AccountClaims,),
}
"""By these kinds of gaps that were not requested a source says itself what it does not offer: it knows best why."""


def why_absent(samples: Sequence[Sample], looks: int) -> dict[type[Evidence], Gap]:
    """For every kind of evidence the reason that fits if it is missing. `looks` is how many snapshots there are."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    scanned = any(gap.kind == "scan" for sample in samples for gap in sample.gaps)
    asked_ntp = any(e.access is Access.NTP for e in exchanges) or any(g.kind == "ntp" for s in samples for g in s.gaps)
    beside: dict[type[Evidence], Gap] = {
        Clocks: _NO_CLOCKS,
        NtpTime: _NTP_UNUSABLE if asked_ntp else _NO_NTP,
        LogEvidence: NO_LOGS,
        History: NO_HISTORY,
        AckTimes: _NO_ACK_TIMES,
        NearSubjects: _NO_SUBJECTS,
        Manifests: NO_MANIFESTS,
        PacketEvidence: NO_PACKETS,
        HostFacts: _NO_HOST,
        KubernetesFacts: _NO_KUBERNETES,
        KnownDefects: _NO_DEFECTS,
        Suppressions: _NO_WAIVERS,
        StoredMessages: _SCAN_FAILED if scanned else _NO_SCAN,
    }
    seen = {exchange.access for exchange in exchanges}
    if all(exchange.endpoint in _OF_NO_ASSETS for exchange in exchanges):
        nothing: dict[type[Evidence], Gap] = dict.fromkeys((*_ASSETS, *_OF_SERVERS, Accounts), _NOTHING)
        return nothing | beside | {ConnectedServer: _NOTHING if not seen else _NO_CONNECTION}
    plain = Access.ACCOUNT in seen and not seen & {Access.SYSTEM, Access.MONITOR, Access.PASTED}
    one = _ONE_ANSWERED if len(samples) > 1 else _ONE_SAMPLE
    return {
        SnapshotSeries: _NO_ASSETS,
        Trend: one if looks else _NO_ASSETS,
        **dict.fromkeys(_OF_SERVERS, _PLAIN_ACCOUNT if plain else _NOT_REPORTED),
        Servers: _PLAIN_ACCOUNT if plain else _NO_SERVERS,
        Topology: _PLAIN_ACCOUNT if plain else _NO_SERVERS,
        ServerTrend: _PLAIN_ACCOUNT if plain else one,
        Accounts: _NO_ACCOUNTS,
        ConnectedServer: _NO_CONNECTION,
        **beside,
        **_said_by_source(samples),
    }


def _said_by_source(samples: Sequence[Sample]) -> dict[type[Evidence], Gap]:
    said = {gap.kind: gap for sample in samples for gap in sample.gaps if not gap.requested}
    return {kind: said[name] for name, kinds in _SAID_BY_SOURCE.items() if name in said for kind in kinds}
