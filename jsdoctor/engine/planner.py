"""From the selected rules to what must be collected for them, and no more."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.clock import Clocks, NtpTime
from jsdoctor.model.connections import Connections
from jsdoctor.model.history import History
from jsdoctor.model.host import HostFacts
from jsdoctor.model.links import Links
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import ScanTarget, StoredMessages
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import Trend


class CollectionPlan(msgspec.Struct, frozen=True):
    """What to ask a live cluster for. Times are seconds. `server_rates`: the variables of servers in every sample.

    `ntp` names the NTP servers to ask for true time, `scan` the streams whose stored messages are read; with `scan_ids`
    their ids are compared, with `scan_contents` also the contents of those whose ids are equal. `ack_metrics`: listen
    to the metrics of consumers that have them switched on. `near_subjects`: ask for the subjects of streams where a
    filter never matched anything. `host`: read this host before the first and after the last sample.
    """

    samples: int = 2
    interval_s: float = 2.0
    timeout_s: float = 5.0
    assets: bool = True
    consumers: bool = True
    servers: bool = True
    accounts: bool = True
    server_rates: bool = True
    raft: bool = True
    connections: bool = True
    links: bool = True
    claims: bool = True
    clocks: bool = True
    ntp: tuple[str, ...] = ()
    scan: tuple[ScanTarget, ...] = ()
    scan_ids: bool = False
    scan_contents: bool = False
    ack_metrics: bool = True
    near_subjects: bool = True
    host: bool = False


_OF_ASSETS = {SnapshotSeries, Trend, History, AckTimes}


def plan_collection(
    checks: Iterable[Check],
    samples: int,
    interval_s: float,
    timeout_s: float,
    ntp: Iterable[str] = (),
    *,
    host: bool = False,
) -> CollectionPlan:
    """The union of what the checks declare. A second sample is taken only when one of them judges a trend."""
    kinds = {kind for check in checks for kind in check.kinds}
    return CollectionPlan(
        samples=samples if kinds & {Trend, ServerTrend, RaftGroups, AckTimes} else 1,
        interval_s=interval_s,
        timeout_s=timeout_s,
        assets=bool(kinds & _OF_ASSETS),
        consumers=bool(kinds & _OF_ASSETS),
        servers=bool(kinds & {Servers, ServerTrend, Topology}),
        accounts=Accounts in kinds,
        server_rates=ServerTrend in kinds,
        raft=RaftGroups in kinds,
        connections=Connections in kinds,
        links=bool(kinds & {Links, Topology}),
        claims=AccountClaims in kinds,
        clocks=Clocks in kinds,
        ntp=tuple(ntp) if NtpTime in kinds else (),
        ack_metrics=AckTimes in kinds,
        near_subjects=NearSubjects in kinds,
        host=host and HostFacts in kinds,
    )


def plan_scan(
    plan: CollectionPlan, checks: Iterable[Check], targets: Iterable[ScanTarget], contents: bool = False
) -> CollectionPlan:
    """The plan with the streams whose stored messages are to be read, if any check judges them."""
    if not any(StoredMessages in check.kinds for check in checks):
        return plan
    return msgspec.structs.replace(plan, scan=tuple(targets), scan_ids=True, scan_contents=contents)
