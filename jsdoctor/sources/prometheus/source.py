"""Prometheus: metrics as the deployment that is judged, or as the past of one that another source shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from jsdoctor.metrics.samples import evidence_of, lost_servers, sample_at, unreachable_servers
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.trend import History
from jsdoctor.model.wording import counted
from jsdoctor.render.wording import to_the_second
from jsdoctor.replies.server_past import past_sample, server_past
from jsdoctor.sources.api_access import api_access, print_query
from jsdoctor.sources.base import Collection, Need, Reading, Role, Run, Source
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connection import resolve_connection
from jsdoctor.sources.prometheus.gather import Metrics, PrometheusClient, gather_metrics
from jsdoctor.sources.request import PrometheusRequest


@dataclass(frozen=True, slots=True)
class PrometheusMetrics(Source):
    """A Prometheus with metrics of a deployment: alone they are what is judged, else the past of the deployment."""

    request: PrometheusRequest
    connection: ConnectionOptions
    shows_queries: bool
    is_past: bool
    has_times = False
    connects = True

    alone = "--prometheus makes no connection, and metrics are the only past that is read beside a deployment"

    @property
    def role(self) -> Role:
        """The deployment, where nothing else describes it."""
        return Role.PAST if self.is_past else Role.DEPLOYMENT

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names it."""
        return ("--prometheus",)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """The deployment as its metrics show it, or its past. Raises the problems of Prometheus."""
        del need
        if not self.is_past:
            return nullcontext(_deployment(*self._metrics(run)))
        series = collection.evidence.get(SnapshotSeries)
        return nullcontext(_past(*self._metrics(run), series.last, collection.evidence) if series else Reading())

    def _metrics(self, run: Run) -> tuple[Metrics, EvidenceOrigin]:
        now = datetime.now(UTC)
        access = api_access("--prometheus", self.request, resolve_connection(self.connection, run.config))
        with PrometheusClient(access, print_query if self.shows_queries else lambda _: None) as client:
            metrics = gather_metrics(client, self.request.match, now.timestamp(), self.request.since_s, run.show)
        return metrics, EvidenceOrigin("prometheus", access.url.base, now)


def _deployment(metrics: Metrics, origin: EvidenceOrigin) -> Reading:
    """The deployment as its metrics show it now, and over the past."""
    samples = [sample_at(moment) for moment in metrics.now]
    earlier = [sample_at(moment) for moment in metrics.earlier]
    evidence = evidence_of(samples)
    down = unreachable_servers(metrics.earlier, metrics.now[-1]) if metrics.now else []
    known = {gap.subject for gap in down}
    lost = [gap for gap in lost_servers(earlier, samples[-1]) if gap.subject not in known] if samples else []
    gaps = (*metrics.gaps, *down, *lost, *_unshown_assets(evidence))
    evidence = evidence.joined(evidence.get(Gaps) or Gaps(()), gaps)
    past = [evidence_of([sample]) for sample in earlier]
    series = evidence.get(SnapshotSeries)
    words = f"no streams, only {counted(_server_count(evidence), 'server')} in Prometheus"
    if series is not None:
        words = _summary(series.last, len(samples))
        if snapshots := _snapshots(past):
            evidence = evidence.joined(History((*snapshots, series.last)))
            shown = _snapshots(item.for_checks() for item in (*past, evidence))
            evidence = evidence.partly_shown(History(tuple(shown)))
            words += f", history since {snapshots[0].taken_at:%Y-%m-%d %H:%M}Z"
    if of_servers := server_past(map(past_sample, [*past, *(evidence_of([sample]) for sample in samples)])):
        evidence = evidence.joined(of_servers)
    return Reading(deployment=evidence, origin=(origin,), headline=words)


def _past(metrics: Metrics, origin: EvidenceOrigin, last: ClusterSnapshot, evidence: EvidenceSet) -> Reading:
    """The past of a deployment whose present another source shows."""
    known = {stream.key for stream in last.streams}
    past = [evidence_of([sample_at(moment)]) for moment in metrics.earlier]
    samples = [
        snapshot
        for snapshot in _snapshots(of_sample.for_checks() for of_sample in past)
        if snapshot.taken_at < last.taken_at and known & {stream.key for stream in snapshot.streams}
    ]
    if not samples:
        reason = "Prometheus has no metrics of the streams of this deployment before now"
        how = "choose its metrics with --prometheus-match, or a longer --prometheus-since"
        return Reading(gaps=(*metrics.gaps, Gap("history", CLUSTER, reason, how)), origin=(origin,))
    latest = [evidence_of([sample_at(moment)]) for moment in metrics.now[-1:]]
    of_servers = server_past(map(past_sample, [*past, *latest, evidence]))
    return Reading(
        evidence=(History((*samples, last)), *([of_servers] if of_servers else [])),
        gaps=metrics.gaps,
        origin=(origin,),
        headline=f"metrics since {samples[0].taken_at:%Y-%m-%d %H:%M}Z",
    )


def _unshown_assets(evidence: EvidenceSet) -> Iterator[Gap]:
    """A requested gap if there are no streams: most rules then have nothing to judge, and must not pass."""
    if evidence.get(SnapshotSeries) is None:
        yield msgspec.structs.replace(evidence.why_absent(SnapshotSeries), requested=True)


def _server_count(evidence: EvidenceSet) -> int:
    servers = evidence.get(Servers)
    return len(servers.servers) if servers is not None else 0


def _snapshots(evidence: Iterable[EvidenceSet]) -> list[ClusterSnapshot]:
    """The last snapshot of each, where it has one."""
    every = (shown.get(SnapshotSeries) for shown in evidence)
    return [series.last for series in every if series is not None]


def _summary(snapshot: ClusterSnapshot, samples: int) -> str:
    consumers = sum(len(stream.consumers) for stream in snapshot.streams)
    parts = (counted(len(snapshot.streams), "stream"), counted(consumers, "consumer"), counted(samples, "scrape"))
    return f"{', '.join(parts)} in Prometheus, seen at {to_the_second(snapshot.taken_at)}"
