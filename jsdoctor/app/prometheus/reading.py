"""Reading Prometheus: as the deployment that is judged, or as the history of one that is looked at otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from jsdoctor.app.api_access import api_access, print_query
from jsdoctor.app.beside import BesideRead
from jsdoctor.app.prometheus.options import PrometheusRequest
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.prometheus.client import PrometheusClient
from jsdoctor.collect.prometheus.gather import Metrics, gather_metrics
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.history import History
from jsdoctor.model.report import Source
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.wording import counted
from jsdoctor.parse.metrics.samples import evidence_of, lost_servers, sample_at, unreachable_servers
from jsdoctor.parse.server_past import past_sample, server_past
from jsdoctor.render.wording import to_the_second


@dataclass(frozen=True, slots=True)
class PrometheusRead:
    """Evidence from metrics, its source, and a sentence on it."""

    evidence: EvidenceSet
    source: Source
    headline: str


def read_deployment(
    request: PrometheusRequest, settings: ConnectionSettings, show: Callable[[str], None]
) -> PrometheusRead:
    """The deployment as its metrics show it now, and over the past. Raises the problems of Prometheus."""
    metrics, source = _metrics(request, settings, show)
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
    words = f"no streams, only {counted(_servers(evidence), 'server')} in Prometheus"
    if series is not None:
        words = _words(series.last, len(samples))
        if whole := _snapshots(past):
            evidence = evidence.joined(History((*whole, series.last)))
            shown = _snapshots(item.for_checks() for item in (*past, evidence))
            evidence = evidence.partly_shown(History(tuple(shown)))
            words += f", history since {whole[0].taken_at:%Y-%m-%d %H:%M}Z"
    if of_servers := server_past(map(past_sample, [*past, *(evidence_of([sample]) for sample in samples)])):
        evidence = evidence.joined(of_servers)
    return PrometheusRead(evidence, source, words)


def read_history(
    request: PrometheusRequest, settings: ConnectionSettings, evidence: EvidenceSet, show: Callable[[str], None]
) -> list[BesideRead]:
    """What Prometheus knows of the past of a deployment that was looked at otherwise."""
    series = evidence.get(SnapshotSeries)
    if series is None:
        return []
    metrics, source = _metrics(request, settings, show)
    known = {stream.key for stream in series.last.streams}
    past = [evidence_of([sample_at(moment)]) for moment in metrics.earlier]
    samples = [
        snapshot
        for snapshot in _snapshots(of_sample.for_checks() for of_sample in past)
        if snapshot.taken_at < series.last.taken_at and known & {stream.key for stream in snapshot.streams}
    ]
    if not samples:
        reason = "Prometheus has no metrics of the streams of this deployment before now"
        how = "choose its metrics with --prometheus-match, or a longer --prometheus-since"
        gap = Gap("history", CLUSTER, reason, how)
        return [BesideRead(Gaps(()), (*metrics.gaps, gap), (source,), "")]
    words = f"metrics since {samples[0].taken_at:%Y-%m-%d %H:%M}Z"
    read = [BesideRead(History((*samples, series.last)), metrics.gaps, (source,), words)]
    latest = [evidence_of([sample_at(moment)]) for moment in metrics.now[-1:]]
    if of_servers := server_past(map(past_sample, [*past, *latest, evidence])):
        read.append(BesideRead(of_servers, (), (), ""))
    return read


def _unshown_assets(evidence: EvidenceSet) -> Iterator[Gap]:
    """Without streams most rules have nothing to judge: that is no pass."""
    if evidence.get(SnapshotSeries) is None:
        yield msgspec.structs.replace(evidence.why_absent(SnapshotSeries), requested=True)


def _servers(evidence: EvidenceSet) -> int:
    servers = evidence.get(Servers)
    return len(servers.servers) if servers is not None else 0


def _snapshots(evidence: Iterable[EvidenceSet]) -> list[ClusterSnapshot]:
    """The last snapshot of each, where it has one."""
    every = (shown.get(SnapshotSeries) for shown in evidence)
    return [series.last for series in every if series is not None]


def _metrics(
    request: PrometheusRequest, settings: ConnectionSettings, show: Callable[[str], None]
) -> tuple[Metrics, Source]:
    now = datetime.now(UTC)
    access = api_access("--prometheus", request, settings)
    with PrometheusClient(access, print_query if request.show_queries else lambda _: None) as client:
        metrics = gather_metrics(client, request.match, now.timestamp(), request.since_s, show)
    return metrics, Source("prometheus", access.url.base, now)


def _words(snapshot: ClusterSnapshot, samples: int) -> str:
    consumers = sum(len(stream.consumers) for stream in snapshot.streams)
    parts = (counted(len(snapshot.streams), "stream"), counted(consumers, "consumer"), counted(samples, "scrape"))
    return f"{', '.join(parts)} in Prometheus, seen at {to_the_second(snapshot.taken_at)}"
