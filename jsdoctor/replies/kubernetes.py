"""Objects of the Kubernetes API as facts about servers. Nothing else of them is kept: pods carry secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from jsdoctor.manifests.kubernetes_containers import (
    Json,
    container_of,
    elements,
    inner,
    moment,
    server_container,
    shutdown_of,
    size,
    text,
    whole,
)
from jsdoctor.manifests.sidecars import sidecar_of
from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.kubernetes import (
    DisruptionBudget,
    KubernetesFacts,
    ObjectWarning,
    ServerPod,
    ServerSet,
    VolumeClaim,
)
from jsdoctor.replies.decoding import own_form
from jsdoctor.replies.kubernetes_configurations import configuration_name

_MONITOR_PORT = 8222
_MAX_TEXT = 300
_OWNERS = ("StatefulSet", "ReplicaSet")
"""Kinds of objects that own pods: a Deployment does so through a ReplicaSet."""


def kubernetes_facts(exchanges: Iterable[Exchange]) -> tuple[KubernetesFacts | None, list[Gap]]:
    """The facts among the exchanges of a run, and a gap where they cannot be read."""
    facts, unread = own_form(exchanges, Endpoint.KUBERNETES, KubernetesFacts)
    gaps = [
        Gap(
            "kubernetes",
            Subject(kind="cluster", name=f"namespace {of.target}"),
            f"the objects of Kubernetes cannot be read: {error}",
            "try again",
        )
        for of, error in unread
    ]
    return facts[-1] if facts else None, gaps


def set_sizes(sets: Iterable[ServerSet] | None, pods: Sequence[ServerPod]) -> dict[str, int]:
    """How many servers each owner has: as its StatefulSet says, else as many as it has pods."""
    return {**Counter(pod.owner for pod in pods if pod.owner), **{pods.name: pods.replicas for pods in sets or ()}}


def server_pods(pods: Iterable[Json], services: Sequence[Json] | None = None) -> tuple[ServerPod, ...]:
    """The pods with a container of nats-server, by name. `services` are those of their namespace."""
    result = (pod for candidate in pods if (pod := _server_pod(candidate, services)) is not None)
    return tuple(sorted(result, key=lambda pod: pod.name))


def _server_pod(pod: Json, services: Sequence[Json] | None = None) -> ServerPod | None:
    metadata, spec, status = (inner(pod, key) for key in ("metadata", "spec", "status"))
    container = server_container(spec)
    name = metadata.get("name")
    if container is None or not isinstance(name, str):
        return None
    owners = [text(owner, "name") for owner in elements(metadata, "ownerReferences")]
    named = (text(inner(volume, "persistentVolumeClaim"), "claimName") for volume in elements(spec, "volumes"))
    unscheduled = (
        text(element, "message") or text(element, "reason") or "it has no node"
        for element in elements(status, "conditions")
        if element.get("type") == "PodScheduled" and element.get("status") == "False"
    )
    unready, since = _unready(status, text(container, "name"))
    return ServerPod(
        name=name,
        node=text(spec, "nodeName"),
        phase=text(status, "phase"),
        owner=owners[0] if owners else "",
        deleting="deletionTimestamp" in metadata,
        unscheduled=next(unscheduled, ""),
        unready=unready,
        unready_since=since,
        mounts=_mounts(spec, container),
        claims=tuple(claim for claim in named if claim),
        monitor_port=_monitor_port(container),
        revision=text(inner(metadata, "labels"), "controller-revision-hash"),
        started=moment(status.get("startTime")),
        configuration=configuration_name(spec),
        shutdown=shutdown_of(spec, container),
        sidecar=sidecar_of(metadata, spec, container, services),
        container=container_of(container, status),
    )


def _unready(status: Json, container: str) -> tuple[str, datetime | None]:
    """Why a pod is not ready and since when. A pod without that condition is as ready as its server's container."""
    ready = next((element for element in elements(status, "conditions") if element.get("type") == "Ready"), None)
    if ready is None:
        shown = next(
            (element for element in elements(status, "containerStatuses") if element.get("name") == container), {}
        )
        is_ready = shown.get("ready") is True
        return ("" if is_ready else "its container is not ready"), None if is_ready else moment(status.get("startTime"))
    if ready.get("status") == "True":
        return "", None
    why = text(ready, "message") or text(ready, "reason") or "no reason is given"
    return why, moment(ready.get("lastTransitionTime"))


def _mounts(spec: Json, container: Json) -> dict[str, str]:
    """Where the server has its claims, by the claim's name."""
    paths = {text(element, "name"): text(element, "mountPath") for element in elements(container, "volumeMounts")}
    mounts = {}
    for volume in elements(spec, "volumes"):
        claim, path = text(inner(volume, "persistentVolumeClaim"), "claimName"), paths.get(text(volume, "name"))
        if claim and path:
            mounts[claim] = path
    return mounts


def _monitor_port(container: Json) -> int:
    ports = [port for port in elements(container, "ports") if port.get("name") in ("monitor", "monitoring", "http")]
    return whole(ports[0].get("containerPort"), _MONITOR_PORT) if ports else _MONITOR_PORT


def server_sets(sets: Iterable[Json], pods: Sequence[ServerPod]) -> tuple[ServerSet, ...]:
    """The StatefulSets that own these pods or would make such pods, by name."""
    owners = {pod.owner for pod in pods}
    result = []
    for candidate in sets:
        name, spec = text(inner(candidate, "metadata"), "name"), inner(candidate, "spec")
        if name not in owners and server_container(inner(spec, "template", "spec")) is None:
            continue
        strategy = inner(spec, "updateStrategy")
        kept = whole(inner(strategy, "rollingUpdate").get("partition")) > 0
        result.append(
            ServerSet(
                name=name,
                replicas=whole(spec.get("replicas"), 1),
                ordered=spec.get("podManagementPolicy") != "Parallel",
                by_hand=strategy.get("type") == "OnDelete" or kept,
            )
        )
    return tuple(sorted(result, key=lambda own: own.name))


def volume_claims(claims: Iterable[Json], of: Sequence[ServerPod]) -> tuple[VolumeClaim, ...]:
    """The claims of these pods, by name."""
    wanted = {claim for pod in of for claim in pod.claims}
    result = (
        VolumeClaim(
            name=text(inner(claim, "metadata"), "name"),
            phase=text(inner(claim, "status"), "phase"),
            storage_class=text(inner(claim, "spec"), "storageClassName"),
            bytes=size(inner(inner(claim, "status"), "capacity").get("storage")),
        )
        for claim in claims
        if text(inner(claim, "metadata"), "name") in wanted
    )
    return tuple(sorted(result, key=lambda claim: claim.name))


def storage_classes(classes: Iterable[Json]) -> dict[str, bool]:
    """The storage classes, and whether their volumes can be made larger."""
    return {text(inner(item, "metadata"), "name"): item.get("allowVolumeExpansion") is True for item in classes}


def object_warnings(events: Iterable[Json], pods: Sequence[ServerPod]) -> tuple[ObjectWarning, ...]:
    """The warnings about these pods, their claims and owners, one for each object and reason, the newest first."""
    objects = {(kind, pod.owner) for pod in pods for kind in _OWNERS} | {("Pod", pod.name) for pod in pods}
    objects |= {("PersistentVolumeClaim", claim) for pod in pods for claim in pod.claims}
    newest_warnings: dict[tuple[str, str, str], ObjectWarning] = {}
    for event in events:
        about, series = inner(event, "involvedObject"), inner(event, "series")
        kind, name = text(about, "kind"), text(about, "name")
        if event.get("type") != "Warning" or (kind, name) not in objects:
            continue
        last = moment(event.get("lastTimestamp")) or moment(series.get("lastObservedTime"))
        warning = ObjectWarning(
            name=name,
            reason=text(event, "reason")[:_MAX_TEXT],
            message=" ".join(text(event, "message").split())[:_MAX_TEXT],
            count=max(1, whole(event.get("count")), whole(series.get("count"))),
            last=last or moment(event.get("eventTime")),
        )
        known = newest_warnings.get((kind, name, warning.reason))
        if known is None or _newer(warning) >= _newer(known):
            newest_warnings[kind, name, warning.reason] = warning
    return tuple(sorted(newest_warnings.values(), key=_newer, reverse=True))


def _newer(warning: ObjectWarning) -> float:
    return warning.last.timestamp() if warning.last else 0.0


def disruption_budgets(budgets: Iterable[Json], pods: Sequence[Json]) -> tuple[DisruptionBudget, ...]:
    """The budgets that select a server pod. `pods` are as the API has them."""
    labels = {
        pod.name: inner(inner(candidate, "metadata"), "labels") for candidate in pods if (pod := _server_pod(candidate))
    }
    result = []
    for budget in budgets:
        metadata, spec = inner(budget, "metadata"), inner(budget, "spec")
        selected = tuple(sorted(name for name, own in labels.items() if _selects(inner(spec, "selector"), own)))
        if selected:
            result.append(
                DisruptionBudget(
                    name=text(metadata, "name"),
                    pods=selected,
                    min_available=text(spec, "minAvailable"),
                    max_unavailable=text(spec, "maxUnavailable"),
                )
            )
    return tuple(sorted(result, key=lambda budget: budget.name))


def _selects(selector: Json, labels: Json) -> bool:
    """Whether a label selector fits; an empty one selects every pod of the namespace (policy/v1)."""
    equal = all(labels.get(key) == value for key, value in inner(selector, "matchLabels").items())
    return equal and all(_fits(rule, labels) for rule in elements(selector, "matchExpressions"))


def _fits(rule: Json, labels: Json) -> bool:
    key, values = str(rule.get("key")), rule.get("values")
    values = values if isinstance(values, list) else []
    match rule.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
