"""All kinds of evidence. A new one is a class in its own module, a name here, and its parser in `replies.assemble`."""

from __future__ import annotations

from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.account_mappings import AccountMappings
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.api_refusals import ApiRefusals
from jsdoctor.model.client_addresses import ClientAddresses
from jsdoctor.model.clock import Clocks, NtpTime
from jsdoctor.model.connections import Connections, Subscriptions
from jsdoctor.model.defect import KnownDefects
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.host import HostFacts
from jsdoctor.model.kubernetes import KubernetesFacts
from jsdoctor.model.leader_interest import LeaderInterest
from jsdoctor.model.links import Links
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests, RunningConfigurations
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.server_past import ServerPast
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import AdvisoryStreams, StoredMessages
from jsdoctor.model.suppression import Suppressions
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import History, ServerTrend, Trend

KINDS: tuple[type[Evidence], ...] = (
    SnapshotSeries,
    Trend,
    Servers,
    ServerTrend,
    RaftGroups,
    Connections,
    Subscriptions,
    Links,
    Topology,
    AccountClaims,
    AccountMappings,
    LeaderInterest,
    Accounts,
    ConnectedServer,
    ApiRefusals,
    ClientAddresses,
    Clocks,
    NtpTime,
    LogEvidence,
    History,
    ServerPast,
    AckTimes,
    NearSubjects,
    Manifests,
    PacketEvidence,
    HostFacts,
    KubernetesFacts,
    RunningConfigurations,
    KnownDefects,
    Suppressions,
    StoredMessages,
    AdvisoryStreams,
)
"""All kinds but `Gaps`, which are always there, in the order in which reports list what is missing."""
