"""JSD705: a Raft group that elects again and again: Raft terms, as the servers tell them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.elections import Elections, Restarts, elections, per_day
from jsdoctor.checks.cluster_health.leadership import Asset
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Severity, Subject, passed
from jsdoctor.model.params import Params
from jsdoctor.model.raft import META_GROUP, RaftGroups
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted, span

_SINGLE = 1


@check("cluster_health.leader_flapping")
def leader_flapping(
    groups: RaftGroups, snapshots: SnapshotSeries | None, servers: Servers | None, params: Params
) -> Iterator[Finding]:
    """A term begins with each election (server: raft.go campaign). Some are normal when a server starts or stops."""
    restarts, assets = Restarts(groups, servers), _by_group(snapshots)
    for found in elections(groups):
        meta = found.last.group == META_GROUP
        asset = assets.get(found.last.group)
        if (asset is None and not meta) or found.last.state.size == _SINGLE:
            continue
        subject = CLUSTER if asset is None else asset.subject
        too_many = restarts.allowed(found, params)
        if too_many is not None:
            yield _flapping(subject, found, too_many, meta)
        elif asset is not None and _was_restless(asset, found, params):
            yield _restless(asset, found, params)
        else:
            yield passed(subject)


def _by_group(snapshots: SnapshotSeries | None) -> dict[str, Asset]:
    found: dict[str, Asset] = {}
    for stream in snapshots.last.streams if snapshots else ():
        assets: tuple[Asset, ...] = (stream, *stream.consumers)
        found |= {asset.cluster.raft_group: asset for asset in assets if asset.cluster and asset.cluster.raft_group}
    return found


def _flapping(subject: Subject, found: Elections, too_many: int, meta: bool) -> Finding:
    first, last = found.first, found.last
    what = "streams and consumers cannot be created or changed" if meta else "nothing is stored or delivered"
    return Finding(
        subject=subject,
        severity=Severity.CRITICAL if meta else None,
        message=(
            f"{counted(found.count, 'election')} in {span(found.elapsed_ns)} (term {first.state.term:,} to "
            f"{last.state.term:,}), more than restarts explain: while there is no leader, {what}"
        ),
        measured=found.count,
        threshold=too_many,
        unit="count",
        first_seen=first.at,
        last_seen=last.at,
        evidence=(
            first.observed("term", first.state.term),
            last.observed("term", last.state.term),
            last.observed("leader_since", last.state.leader_since),
        ),
    )


def _was_restless(asset: Asset, found: Elections, params: Params) -> bool:
    term = found.last.state.term
    if asset.created is None or term < params.integer("least_term"):
        return False
    return per_day(term, asset.created, found.last.at) >= params.number("per_day")


def _restless(asset: Asset, found: Elections, params: Params) -> Finding:
    term, created = found.last.state.term, asset.created or found.last.at
    daily = per_day(term, created, found.last.at)
    age = span(int((found.last.at - created).total_seconds()) * 1_000_000_000)
    return Finding(
        subject=asset.subject,
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        message=(
            f"it is at term {term:,} after {age}, {daily:,.0f} elections a day on average: "
            "its leader was lost often at some time, not while we looked"
        ),
        measured=round(daily, 1),
        threshold=params.number("per_day"),
        unit="count",
        evidence=(found.last.observed("term", term), asset.observed("created", asset.created)),
    )
