"""`--history DIR`: earlier bundles of the deployment that a run judges."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.server_past import PastSample
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.trend import History, is_same_deployment
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.server_past import past_sample, server_past
from jsdoctor.sources.base import Collection, Need, Reading, Role, Run, Source
from jsdoctor.sources.bundle.read import Earlier, read_history

_MAX_SERVER_PAST = timedelta(days=7)
"""Links and starts of servers that are longer ago are not read: they do not explain the present."""


@dataclass(frozen=True, slots=True)
class EarlierBundles(Source):
    """A directory with earlier bundles of the deployment that a run judges."""

    directory: Path
    role = Role.PAST
    alone = "--history shows the past of a deployment"
    has_times = True

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names it."""
        return ("--history",)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """What the bundles showed, together with what was seen now; only gaps where there is nothing to compare.

        Raises `UsageProblem` for a directory that is none or has no bundles.
        """
        del need
        series = collection.evidence.get(SnapshotSeries)
        if series is None:
            return nullcontext(Reading())
        run.show(f"reading the bundles in {self.directory}")
        return nullcontext(self._compared(series.last, collection.evidence, run.window))

    def _compared(self, last: ClusterSnapshot, evidence: EvidenceSet, window: Window | None) -> Reading:
        """The snapshots of the bundles and of this run, and how servers and links changed between them."""
        result, gaps = read_history(self.directory, last.taken_at)
        samples: list[ClusterSnapshot] = []
        past: list[PastSample | None] = []
        origin: list[EvidenceOrigin] = []
        for earlier in result:
            if window is not None and not window.holds(earlier.taken_at):
                continue
            evidence_then = assemble(earlier.samples)
            snapshot = _snapshot(evidence_then)
            if snapshot is not None and is_same_deployment(snapshot, last):
                samples.append(snapshot)
                if last.taken_at - earlier.taken_at <= _MAX_SERVER_PAST:
                    past.append(past_sample(evidence_then))
                origin.append(EvidenceOrigin("bundle", str(earlier.path), earlier.taken_at))
            else:
                gaps.append(_other_deployment_gap(earlier))
        in_window = f" {window.words}" if window else ""
        if not samples:
            reason = f"no bundle in {self.directory} shows this deployment at an earlier time{in_window}"
            gaps.append(Gap("history", CLUSTER, reason, "name the directory that its bundles are written to"))
            return Reading(gaps=tuple(gaps))
        reported = f"{counted(len(samples), 'earlier bundle')}, the first of {samples[0].taken_at:%Y-%m-%d %H:%M}Z"
        reported += f"; only{in_window}" if window else ""
        of_servers = server_past([*past, past_sample(evidence)])
        return Reading(
            evidence=(History((*samples, last)), *([of_servers] if of_servers else [])),
            replied=(History,),
            gaps=tuple(gaps),
            origin=tuple(origin),
            headline=reported,
        )


def _snapshot(evidence_then: EvidenceSet) -> ClusterSnapshot | None:
    series = evidence_then.get(SnapshotSeries)
    return series.last if series is not None else None


def _other_deployment_gap(earlier: Earlier) -> Gap:
    reason = f"{earlier.path.name} shows no stream that is seen now: another deployment, account, or everything again"
    how = "keep bundles of one deployment in a directory, captured with the same login"
    return Gap("history", CLUSTER, reason, how)
