"""`--history DIR`: earlier bundles of the deployment that a run looks at."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from jsdoctor.app.beside import BesideRead
from jsdoctor.collect.bundle.history import Earlier, read_history
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.history import History, is_same_deployment
from jsdoctor.model.report import Source
from jsdoctor.model.server_past import PastSample
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.server_past import past_sample, server_past

_OF_SERVERS = timedelta(days=7)
"""Of links and starts that are longer ago, none says what is wrong now."""


def earlier_samples(
    directory: Path, evidence: EvidenceSet, show: Callable[[str], None], window: Window | None = None
) -> list[BesideRead]:
    """What the bundles there showed, together with what was seen now; only gaps where there is nothing to compare.

    The newest bundle and this run are the present of servers and links: what both lack was not missed once.

    Raises `UsageProblem` for a directory that is none or has no bundles.
    """
    series = evidence.get(SnapshotSeries)
    if series is None:
        return []
    show(f"reading the bundles in {directory}")
    result, gaps = read_history(directory, series.last.taken_at)
    samples: list[ClusterSnapshot] = []
    past: list[PastSample | None] = []
    sources: list[Source] = []
    for earlier in result:
        if window is not None and not window.holds(earlier.taken_at):
            continue
        then = assemble(earlier.samples)
        snapshot = _snapshot(then)
        if snapshot is not None and is_same_deployment(snapshot, series.last):
            samples.append(snapshot)
            if series.last.taken_at - earlier.taken_at <= _OF_SERVERS:
                past.append(past_sample(then))
            sources.append(Source("bundle", str(earlier.path), earlier.taken_at))
        else:
            gaps.append(_unlike(earlier))
    if not samples:
        within = f" {window.words}" if window else ""
        reason = f"no bundle in {directory} shows this deployment at an earlier time{within}"
        gaps.append(Gap("history", CLUSTER, reason, "name the directory that its bundles are written to"))
        return [BesideRead(Gaps(()), tuple(gaps), (), "")]
    reported = f"{counted(len(samples), 'earlier bundle')}, the first of {samples[0].taken_at:%Y-%m-%d %H:%M}Z"
    reported += f"; only {window.words}" if window else ""
    read = [BesideRead(History((*samples, series.last)), tuple(gaps), tuple(sources), reported)]
    if of_servers := server_past([*past, past_sample(evidence)]):
        read.append(BesideRead(of_servers, (), (), ""))
    return read


def _snapshot(then: EvidenceSet) -> ClusterSnapshot | None:
    series = then.get(SnapshotSeries)
    return series.last if series is not None else None


def _unlike(earlier: Earlier) -> Gap:
    reason = f"{earlier.path.name} shows no stream that is seen now: another deployment, account, or everything again"
    how = "keep bundles of one deployment in a directory, captured with the same login"
    return Gap("history", CLUSTER, reason, how)
