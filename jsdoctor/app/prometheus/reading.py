"""Reading Prometheus: as the deployment that is judged, or as the history of one that is looked at otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from jsdoctor.app.api_access import api_access, print_query
from jsdoctor.app.evidence import BesideRead
from jsdoctor.app.prometheus.options import PrometheusRequest
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.prometheus.client import PrometheusClient
from jsdoctor.collect.prometheus.gather import Metrics, gather_metrics
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.history import History
from jsdoctor.model.report import Source
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.wording import counted
from jsdoctor.parse.metrics.looks import evidence_of, look_at, lost_servers, snapshot_of
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
    looks = [look_at(moment) for moment in metrics.now]
    earlier = [look_at(moment) for moment in metrics.earlier]
    evidence = evidence_of(looks)
    gaps = (*metrics.gaps, *(lost_servers(earlier, looks[-1]) if looks else ()))
    evidence = evidence.joined(evidence.get(Gaps) or Gaps(()), gaps)
    series, words = evidence.get(SnapshotSeries), ""
    found = [both for look in earlier if (both := snapshot_of(look))]
    if isinstance(series, SnapshotSeries):
        shown = evidence.for_checks().get(SnapshotSeries)
        last = shown.last if isinstance(shown, SnapshotSeries) else series.last
        words = _words(series.last, len(looks))
        if found:
            evidence = evidence.joined(History((*(whole for whole, _ in found), series.last)))
            evidence = evidence.partly_shown(History((*(partial for _, partial in found), last)))
            words += f", history since {found[0][0].taken_at:%Y-%m-%d %H:%M}Z"
    return PrometheusRead(evidence, source, words)


def read_history(
    request: PrometheusRequest, settings: ConnectionSettings, evidence: EvidenceSet, show: Callable[[str], None]
) -> BesideRead:
    """What Prometheus knows of the past of a deployment that was looked at otherwise."""
    series = evidence.get(SnapshotSeries)
    if not isinstance(series, SnapshotSeries):
        return BesideRead(Gaps(()), (), (), "")
    metrics, source = _metrics(request, settings, show)
    known = {stream.key for stream in series.last.streams}
    found = [both[1] for moment in metrics.earlier if (both := snapshot_of(look_at(moment)))]
    looks = [
        one for one in found if one.taken_at < series.last.taken_at and known & {stream.key for stream in one.streams}
    ]
    if not looks:
        reason = "Prometheus has no metrics of the streams of this deployment before now"
        how = "choose its metrics with --prometheus-match, or a longer --prometheus-since"
        gap = Gap("history", CLUSTER, reason, how)
        return BesideRead(Gaps(()), (*metrics.gaps, gap), (source,), "")
    words = f"metrics since {looks[0].taken_at:%Y-%m-%d %H:%M}Z"
    return BesideRead(History((*looks, series.last)), metrics.gaps, (source,), words)


def _metrics(
    request: PrometheusRequest, settings: ConnectionSettings, show: Callable[[str], None]
) -> tuple[Metrics, Source]:
    now = datetime.now(UTC)
    access = api_access("--prometheus", request, settings)
    with PrometheusClient(access, print_query if request.show_queries else lambda _: None) as client:
        metrics = gather_metrics(client, request.match, now.timestamp(), request.since_s, show)
    return metrics, Source("prometheus", access.url.base, now)


def _words(snapshot: ClusterSnapshot, looks: int) -> str:
    consumers = sum(len(stream.consumers) for stream in snapshot.streams)
    parts = (counted(len(snapshot.streams), "stream"), counted(consumers, "consumer"), counted(looks, "scrape"))
    return f"{', '.join(parts)} in Prometheus, seen at {to_the_second(snapshot.taken_at)}"
