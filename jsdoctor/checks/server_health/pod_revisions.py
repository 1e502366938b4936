"""JSD842: pods of one StatefulSet that were made from different templates, long after the last change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Subject, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("server_health.pod_revisions")
def pod_revisions(kubernetes: KubernetesFacts, params: Params) -> Iterator[Finding]:
    """Compare the revisions of pods; while the newest pod is young, a roll-out may be under way."""
    grace = timedelta(seconds=params.number("roll_out") / 1_000_000_000)
    for owner, pods in kubernetes.groups().items():
        known = [pod for pod in pods if pod.revision]
        if len(known) < 2:
            continue
        subject = Subject(kind="cluster", name=owner)
        if len({pod.revision for pod in known}) == 1:
            yield passed(subject)
            continue
        newest = max((pod.started for pod in known if pod.started), default=None)
        if newest is None or kubernetes.at - newest < grace:
            reason = "its pods have different revisions, and a roll-out may be under way"
            hours = span(int(grace.total_seconds() * 1_000_000_000))
            yield unknown(subject, reason, f"run the check again when no pod was started for {hours}")
        else:
            yield _finding(kubernetes, subject, known)


def _finding(facts: KubernetesFacts, subject: Subject, pods: Sequence[ServerPod]) -> Finding:
    by_revision: dict[str, list[str]] = defaultdict(list)
    for pod in pods:
        by_revision[pod.revision].append(pod.name)
    parts = "; ".join(f"{', '.join(names)} of {revision}" for revision, names in sorted(by_revision.items()))
    differing = "".join(f", {what}" for what in _differences(pods))
    by_hand = any(pods.by_hand for pods in facts.sets or () if pods.name == subject.name)
    why = ": its update strategy leaves earlier pods as they are" if by_hand else ": the roll-out does not go on"
    return failed(
        subject,
        f"its pods were made from different templates ({parts}{differing}){why}",
        facts.observed("pods.revision", parts),
        measured=(len(by_revision), 1, "count"),
        remedy={**facts.remedy},
    )


def _differences(pods: Sequence[ServerPod]) -> Iterator[str]:
    """What the templates differ in, of what is known of them."""
    fields: dict[str, set[Any]] = {
        "image": {pod.container.image for pod in pods},
        "memory limit": {pod.container.memory_limit for pod in pods},
        "GOMEMLIMIT": {pod.container.go_memory_limit for pod in pods},
        "probes": {(pod.container.startup, pod.container.readiness, pod.container.liveness) for pod in pods},
        "shutdown": {pod.shutdown for pod in pods},
        "configuration": {pod.configuration for pod in pods},
    }
    for name, values in fields.items():
        if len(values) > 1:
            plain = all(isinstance(value, str | int) for value in values)
            yield f"{name}: {' and '.join(sorted(map(str, values)))}" if plain else f"other {name}"
