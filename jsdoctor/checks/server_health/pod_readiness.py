"""JSD836: server pods that are not ready, and so are no part of their Service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, suspected
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted

_STARTING = ("", "ContainerCreating", "PodInitializing")


@check("server_health.pods_ready")
def pods_ready(kubernetes: KubernetesFacts, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """A pod that waits for another reason, or has no node, is JSD831's."""
    grace = timedelta(seconds=params.number("grace") / 1_000_000_000)
    for number, pod in enumerate(kubernetes.pods):
        if pod.deleting or pod.unscheduled or pod.container.waiting not in _STARTING:
            continue
        if not pod.unready:
            yield passed(pod.subject)
        elif pod.unready_since is None:
            reason = f"it is not ready ({pod.unready}), and Kubernetes does not report since when"
            yield suspected(pod.subject, reason, "run the check again in a minute")
        else:
            yield _unready(kubernetes, f"pods[{number}].unready", pod, grace, snapshots)


def _unready(
    facts: KubernetesFacts, path: str, pod: ServerPod, grace: timedelta, snapshots: SnapshotSeries | None
) -> Finding:
    since = pod.unready_since or facts.at
    lasted = max(timedelta(), facts.at - since)
    streams = snapshots.last.led_streams() if snapshots else ()
    led = sum(1 for stream in streams if stream.cluster is not None and stream.cluster.leader == pod.name)
    leads = f"; it leads {counted(led, 'stream')}" if led else ""
    if lasted < grace:
        reason = f"it has not been ready for {int(lasted.total_seconds())} s ({pod.unready}), and may be starting"
        return suspected(pod.subject, reason, f"run the check again when {int(grace.total_seconds())} s have passed")
    return failed(
        pod.subject,
        f"its pod has not been ready since {since:%Y-%m-%d %H:%M:%S}Z ({pod.unready}): Services leave it out"
        f" and disruption budgets count it as unavailable{leads}{facts.warning_of(pod.name, *pod.claims)}",
        facts.observed(path, pod.unready),
        measured=(int(lasted.total_seconds()), int(grace.total_seconds()), "s"),
        between=(since, None),
        remedy={"namespace": facts.namespace},
    )
