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
    """As the server reports it, else as the tag of its image says; () where neither does."""
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
    """A pod without a node, one whose server waits or was ended lately, and pods that a StatefulSet lacks."""
    recent = timedelta(seconds=params.number("recent") / 1_000_000_000)
    for number, pod in enumerate(kubernetes.pods):
        if not pod.deleting:
            yield _judged(kubernetes, number, pod, recent)
    for own in kubernetes.sets or ():
        there = sum(1 for pod in kubernetes.pods if pod.owner == own.name)
        if there < own.replicas:
            yield failed(
                Subject(kind="cluster", name=own.name),
                f"{there} of {own.replicas} pods exist{kubernetes.warning_of(own.name)}",
                kubernetes.observed("sets.replicas", own.replicas),
                measured=(there, own.replicas, "count"),
                remedy={**kubernetes.remedy},
            )


def _judged(facts: KubernetesFacts, number: int, pod: ServerPod, recent: timedelta) -> Finding:
    server, place = pod.container, f"pods[{number}]"
    if pod.unscheduled:
        message = f"its pod has no node: {pod.unscheduled}"
        return _finding(facts, pod, facts.observed(f"{place}.unscheduled", pod.unscheduled), message)
    if server.waiting and server.waiting not in ("ContainerCreating", "PodInitializing"):
        why = _REASONS.get(server.waiting, "its container waits")
        ended = f"; the run before ended with {_end(pod)}" if server.ended else ""
        message = f"it does not run: {server.waiting}, {why}{ended}{_restarts(pod)}"
        return _finding(facts, pod, facts.observed(f"{place}.container.waiting", server.waiting), message)
    lately = server.ended_at if server.ended_at is not None and facts.at - server.ended_at <= recent else None
    if lately and server.ended == "OOMKilled":
        message = f"Kubernetes ended it at {_at(lately)}: OOMKilled, {_REASONS['OOMKilled']}"
        return _finding(
            facts, pod, facts.observed(f"{place}.container.ended", server.ended), f"{message}{_restarts(pod)}"
        )
    if lately and server.exit_code:
        message = f"its server ended at {_at(lately)} with {_end(pod)}{_restarts(pod)}"
        seen = facts.observed(f"{place}.container.ended", server.ended)
        return _finding(facts, pod, seen, message, Severity.WARNING)
    return passed(pod.subject)


def _restarts(pod: ServerPod) -> str:
    """Events do not show how often."""
    restarts = pod.container.restarts
    return f"; restarted {counted(restarts, 'time')} in all" if restarts else ""


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def _end(pod: ServerPod) -> str:
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
