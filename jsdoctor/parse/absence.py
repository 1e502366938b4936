"""Why a kind of evidence is not there: what each access cannot show, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.evidence import Evidence
from jsdoctor.model.evidence_kinds import DECLARED, NO_CONNECTION, NOTHING_ANSWERED, CollectionFacts
from jsdoctor.model.exchange import Access, Sample
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
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.suppression import Suppressions
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import Trend


def _not_offered(reason: str, how_to_get: str, kind: str = "access") -> Gap:
    return Gap(kind=kind, subject=CLUSTER, reason=reason, how_to_get=how_to_get, requested=False)


_NOTHING = _not_offered("nothing answered", "see what is said of the connection, and run again")
_PLAIN_ACCOUNT = _not_offered(
    "this login belongs to a plain account, which cannot see servers",
    "use a login of the system account, or add --monitor http://HOST:8222 for each server",
)
_NO_SERVERS = _not_offered("no server told of itself", "use a login of the system account")
_NO_ACCOUNTS = _not_offered(
    "no reply told how much of its limits any account uses",
    "use a login of an account with JetStream, or of the system account",
)
_NO_CONNECTION = _not_offered("no client connection was made", "give --server or --context")
_NO_ASSETS = _not_offered(
    "no server told of its streams", "use a login of an account with JetStream, or of the system account"
)
_ONE_SAMPLE = _not_offered("a rate needs two samples and one was taken", "run with --samples 2 or more", kind="samples")

_NOT_REPORTED = _not_offered(
    "no server was asked, or none answered",
    "run again with a login of the system account; of captured evidence, capture it anew",
)
_ONE_ANSWERED = _not_offered(
    "a rate needs two samples, and only one of them was answered",
    "see what could not be seen, and run again",
    kind="samples",
)


_NO_CLOCKS = _not_offered(
    "no server told its time",
    'allow this login to ask "$SYS.REQ.USER.INFO"; of captured evidence, capture it anew',
)
_NO_NTP = _not_offered(
    "no NTP server was asked, so nobody knows which clock is right",
    "name one that this machine can reach, better three: --ntp HOST, or ntp = [...] in the configuration",
    kind="ntp",
)
_NTP_UNUSABLE = _not_offered(
    "no NTP server that was asked gave a time to rely on", "see what is said of each of them", kind="ntp"
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
    "the stored messages of no stream that was named could be read", "see what is said of each of them", kind="scan"
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
    "no consumer that was seen with a login of its account has its acknowledgements measured, or one look was taken",
    "switch it on for a consumer (nats consumer edit STREAM CONSUMER --sample 100 -f) and look with --interval 30s",
    kind="metrics",
)

_NO_SUBJECTS = _not_offered(
    "no stream was asked for its subjects: no filter of this account is in doubt, or the login is of another account",
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
        RunningConfigurations: _NO_CONFIGURATIONS,
        KnownDefects: _NO_DEFECTS,
        Suppressions: _NO_WAIVERS,
        StoredMessages: _SCAN_FAILED if scanned else _NO_SCAN,
    }
    seen = {exchange.access for exchange in exchanges}
    collected = CollectionFacts(
        samples=len(samples),
        looks=looks,
        plain=Access.ACCOUNT in seen and not seen & {Access.SYSTEM, Access.MONITOR, Access.PASTED},
        asked_ntp=Access.NTP in seen or any(gap.kind == "ntp" for gap in gaps),
        scanned=any(gap.kind == "scan" for gap in gaps),
    )
    if all(exchange.endpoint in _OF_NO_ASSETS for exchange in exchanges):
        others = [one for one in DECLARED if one.kind is not ConnectedServer]
        absent = {one.kind: NOTHING_ANSWERED if one.of_deployment else one.absent(collected) for one in others}
        return {**absent, ConnectedServer: NO_CONNECTION if seen else NOTHING_ANSWERED}
    said = {gap.kind: gap for gap in gaps if not gap.requested}
    return {
        one.kind: next((said[name] for name in reversed(one.said_by) if name in said), None) or one.absent(collected)
        for one in DECLARED
    }
