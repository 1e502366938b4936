"""JSD731: a stream or consumer that is moved or scaled, and does not get there."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.jetstream import DesiredPlacement
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import span

_COPYING = "catchup"


@check("cluster_health.change_unfinished")
def change_unfinished(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge the age of a move. Only servers from 2.15 on report one; to copy a large stream takes hours."""
    for asset in snapshots.last.led_assets():
        desired = asset.cluster.desired if asset.cluster else None
        if desired is not None and desired.created is not None:
            age_ns = int((asset.at - desired.created).total_seconds() * 1e9)
            yield _judged(asset, desired, age_ns, params.integer("warn_after"))


def _judged(asset: Stream | Consumer, desired: DesiredPlacement, age_ns: int, limit_ns: int) -> Finding:
    status = desired.status
    if age_ns < limit_ns and not status.err:
        return passed(asset.subject)
    servers = ", ".join(peer.name for peer in desired.replicas)
    reason = status.description + (f" ({status.err})" if status.err else "")
    report = f"; its leader reports: {reason}" if reason else ""
    return failed(
        asset.subject,
        f"its move to {servers} began {span(age_ns)} ago and has not ended{report}; until then other moves are refused",
        asset.observed("cluster.desired.status", reason),
        severity=Severity.INFO if status.type == _COPYING and not status.err else None,
        measured=(age_ns, limit_ns, "duration"),
    )
