"""JSD831: server pods that do not run, or that were ended and started again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod
from jsdoctor.model.params import Params
from jsdoctor.model.release import release
from jsdoctor.model.server import Server
from jsdoctor.model.wording import counted


def release_of(pod: ServerPod, server: Server | None) -> tuple[int, ...]:
    """The release that the server reports, else that of its image's tag; () if neither is known."""
    if server is not None and server.version:
        return release(server.version)
    tag = pod.container.image.partition("@")[0].rpartition(":")[2]
    return release(tag)


_REASONS = {
    "OOMKilled": "it used more memory than its limit allows, or its node had none left",
    "CrashLoopBackOff": "its server ends each time it is started",
    "ImagePullBackOff": "its image cannot be pulled",
    "ErrImagePull": "its image cannot be pulled",
    "CreateContainerConfigError": "a ConfigMap, Secret or key that it names is missing, or its user is not allowed",
}


@check("server_health.pods_running")
def pods_running(kubernetes: KubernetesFacts, params: Params) -> Iterator[Finding]:
    """Judge pods without a node, pods whose server waits or ended lately, and StatefulSets that lack pods."""
    recent = timedelta(seconds=params.number("recent") / 1_000_000_000)
    for number, pod in enumerate(kubernetes.pods):
        if not pod.deleting:
            yield _judged(kubernetes, number, pod, recent)
    for stateful_set in kubernetes.sets or ():
        existing = sum(1 for pod in kubernetes.pods if pod.owner == stateful_set.name)
        if existing < stateful_set.replicas:
            yield failed(
                Subject(kind="cluster", name=stateful_set.name),
                f"{existing} of {stateful_set.replicas} pods exist{kubernetes.warning_of(stateful_set.name)}",
                kubernetes.observed("sets.replicas", stateful_set.replicas),
                measured=(existing, stateful_set.replicas, "count"),
                remedy={**kubernetes.remedy},
            )


def _judged(facts: KubernetesFacts, number: int, pod: ServerPod, recent: timedelta) -> Finding:
    server, place = pod.container, f"pods[{number}]"
    if pod.unscheduled:
        message = f"its pod has no node: {pod.unscheduled}"
        return _finding(facts, pod, facts.observed(f"{place}.unscheduled", pod.unscheduled), message)
    if server.waiting and server.waiting not in ("ContainerCreating", "PodInitializing"):
        why = _REASONS.get(server.waiting, "its container waits")
        ended = f"; the run before ended with {_end_text(pod)}" if server.ended else ""
        message = f"it does not run: {server.waiting}, {why}{ended}{_restarts_text(pod)}"
        return _finding(facts, pod, facts.observed(f"{place}.container.waiting", server.waiting), message)
    lately = server.ended_at if server.ended_at is not None and facts.at - server.ended_at <= recent else None
    if lately and server.ended == "OOMKilled":
        message = f"Kubernetes ended it at {_time_text(lately)}: OOMKilled, {_REASONS['OOMKilled']}"
        return _finding(
            facts, pod, facts.observed(f"{place}.container.ended", server.ended), f"{message}{_restarts_text(pod)}"
        )
    if lately and server.exit_code:
        message = f"its server ended at {_time_text(lately)} with {_end_text(pod)}{_restarts_text(pod)}"
        seen = facts.observed(f"{place}.container.ended", server.ended)
        return _finding(facts, pod, seen, message, Severity.WARNING)
    return passed(pod.subject)


def _restarts_text(pod: ServerPod) -> str:
    """How often the container was restarted in all, as half a sentence."""
    restarts = pod.container.restarts
    return f"; restarted {counted(restarts, 'time')} in all" if restarts else ""


def _time_text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def _end_text(pod: ServerPod) -> str:
    return f"{pod.container.ended or 'no reason'} (exit code {pod.container.exit_code})"


def _finding(
    facts: KubernetesFacts, pod: ServerPod, seen: Observation, message: str, severity: Severity | None = None
) -> Finding:
    return failed(
        pod.subject,
        message,
        seen,
        severity=severity,
        measured=(pod.container.restarts, None, "count"),
        remedy={**facts.remedy},
    )
