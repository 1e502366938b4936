"""JSD705 without Raft terms: a stream or consumer that other servers lead from one sample to the next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, passed, unknown
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.params import Params
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, Trend
from jsdoctor.model.wording import counted, span


@check("cluster_health.leader_changes")
def leader_changes(trend: Trend, groups: RaftGroups | None, params: Params) -> Iterator[Finding]:
    """At most one change shows from sample to sample, so few samples cannot show many (any access tells `leader`)."""
    most, window_ns = params.integer("elections"), params.integer("window")
    clustered = [history for history in _histories(trend) if history.last.cluster and history.last.cluster.replicas]
    if not clustered:
        return
    if len(trend.snapshots) <= most:
        if groups is None:
            reason = (
                f"{len(trend.snapshots)} samples show at most {counted(len(trend.snapshots) - 1, 'change')} of leader"
            )
            yield unknown(CLUSTER, reason, f"use a login of the system account, or run with --samples {most + 1}")
        return
    for history in clustered:
        clusters = [reading.cluster for reading in history.readings]
        changes = [pair for pair in pairwise(clusters) if _changed(*pair)]
        if len(changes) * min(1.0, window_ns / (history.elapsed_s * 1e9)) < most:
            yield passed(history.last.subject)
            continue
        leaders = [cluster.leader for cluster in clusters if cluster]
        yield Finding(
            subject=history.last.subject,
            message=(
                f"{counted(len(changes), 'change')} of leader in {span(int(history.elapsed_s * 1e9))}: "
                "while there is none, nothing is stored or delivered"
            ),
            measured=len(changes),
            threshold=most,
            unit="count",
            evidence=(history.last.observed("cluster.leader", " -> ".join(leaders)),),
        )


def _histories(trend: Trend) -> Iterator[StreamHistory | ConsumerHistory]:
    yield from trend.streams()
    yield from trend.consumers()


def _changed(before: Cluster | None, after: Cluster | None) -> bool:
    """Another leader, or the same one elected anew."""
    if before is None or after is None:
        return False
    again = before.leader_since is not None and before.leader_since != after.leader_since
    return before.leader != after.leader or (again and after.leader_since is not None)
