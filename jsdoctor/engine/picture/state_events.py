"""Events of the timeline from a deployment and from findings: starts, new leaders, and how long a fault lasted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from jsdoctor.engine.picture.clocks import UNKNOWN, Axis
from jsdoctor.engine.picture.log_events import Key
from jsdoctor.engine.picture.trends import microseconds
from jsdoctor.model.clock import Clocks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.picture import TimelineEvent
from jsdoctor.model.report import Report
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries

_RECENT = timedelta(hours=24)
"""Starts and elections longer ago explain nothing of now, and would stretch the axis."""


def state_events(evidence: EvidenceSet) -> Iterator[tuple[Key, TimelineEvent]]:
    """When servers started and leaders were elected, by the clocks of the servers."""
    clocks = evidence.get(Clocks)
    measured = {server.name: server for server in clocks.servers} if clocks is not None else {}

    def moment(kind: str, label: str, at: datetime, server: str) -> TimelineEvent:
        clock = measured.get(server)
        us = microseconds(at) - (clock.offset.middle_ns // 1000 if clock else 0)
        bound = -(-clock.offset.bound_ns // 1000) if clock else None
        return TimelineEvent(kind=kind, label=label, start_us=us, end_us=us, bound_us=bound)

    servers = evidence.get(Servers)
    for server in servers.servers if servers is not None else ():
        start = server.varz.start if server.varz else None
        if start is not None and server.at - start < _RECENT:
            yield ("server", server.name), moment("state", f"{server.name} started", start, server.name)
    snapshots = evidence.get(SnapshotSeries)
    for stream in snapshots.last.led_streams() if snapshots is not None else ():
        cluster = stream.cluster
        if cluster and cluster.leader_since and stream.at - cluster.leader_since < _RECENT:
            label = f"{cluster.leader} became leader"
            yield ("stream", stream.subject.label), moment("leader", label, cluster.leader_since, stream.answered_by)


def finding_events(report: Report, axis: Axis) -> Iterator[tuple[Key, TimelineEvent]]:
    """Findings that know from when to when. Those of logs are on the clock of the server that they are about."""
    for result in report.failures():
        finding = result.finding
        moments = [microseconds(at) for at in (finding.first_seen, finding.last_seen) if at is not None]
        if not moments:
            continue
        correction = axis.of(finding.subject.name) if finding.subject.kind == "server" else UNKNOWN
        yield (
            (finding.subject.kind, finding.subject.label),
            TimelineEvent(
                kind="finding",
                label=f"{result.rule.slug.replace('-', ' ')}: {finding.message}",
                start_us=moments[0] - correction.ahead_us,
                end_us=max(moments) - correction.ahead_us,
                severity=result.severity,
                code=result.rule.code,
                bound_us=correction.bound_us,
            ),
        )
