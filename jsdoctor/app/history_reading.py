"""`--history DIR`: earlier bundles of the deployment that a run looks at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jsdoctor.app.beside import BesideRead
from jsdoctor.collect.bundle.history import Earlier, read_history
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.history import History, is_same_deployment
from jsdoctor.model.report import Source
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted
from jsdoctor.parse.assemble import assemble


def earlier_looks(
    directory: Path, evidence: EvidenceSet, show: Callable[[str], None], window: Window | None = None
) -> BesideRead:
    """What the bundles there showed, together with what was seen now; only gaps where there is nothing to compare.

    Raises `UsageProblem` for a directory that is none or has no bundles.
    """
    series = evidence.get(SnapshotSeries)
    if not isinstance(series, SnapshotSeries):
        return BesideRead(Gaps(()), (), (), "")
    show(f"reading the bundles in {directory}")
    found, gaps = read_history(directory, series.last.taken_at)
    looks: list[ClusterSnapshot] = []
    sources: list[Source] = []
    for earlier in found:
        if window is not None and not window.holds(earlier.taken_at):
            continue
        snapshot = _snapshot(earlier)
        if snapshot is not None and is_same_deployment(snapshot, series.last):
            looks.append(snapshot)
            sources.append(Source("bundle", str(earlier.path), earlier.taken_at))
        else:
            gaps.append(_unlike(earlier))
    if not looks:
        within = f" {window.words}" if window else ""
        reason = f"no bundle in {directory} shows this deployment at an earlier time{within}"
        gaps.append(Gap("history", CLUSTER, reason, "name the directory that its bundles are written to"))
        return BesideRead(Gaps(()), tuple(gaps), (), "")
    told = f"{counted(len(looks), 'earlier bundle')}, the first of {looks[0].taken_at:%Y-%m-%d %H:%M}Z"
    told += f"; only {window.words}" if window else ""
    return BesideRead(History((*looks, series.last)), tuple(gaps), tuple(sources), told)


def _snapshot(earlier: Earlier) -> ClusterSnapshot | None:
    series = assemble([earlier.sample]).get(SnapshotSeries)
    return series.last if isinstance(series, SnapshotSeries) else None


def _unlike(earlier: Earlier) -> Gap:
    reason = f"{earlier.path.name} shows no stream that is seen now: another deployment, account, or everything again"
    how = "keep bundles of one deployment in a directory, captured with the same login"
    return Gap("history", CLUSTER, reason, how)
