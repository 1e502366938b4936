"""Objects of the Kubernetes API as facts about servers. Nothing else of them is kept: pods carry secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.kubernetes import (
    DisruptionBudget,
    KubernetesFacts,
    ObjectWarning,
    ServerContainer,
    ServerPod,
    VolumeClaim,
)
from jsdoctor.parse.quantity import quantity_bytes
from jsdoctor.parse.replies import ReplyError, decode

_IMAGE = re.compile(r"(?:^|/)nats(?:-server)?(?::|@|$)")
"""`nats:2.12`, `docker.io/library/nats@sha256:…`, `example.org/nats-server:2.12`; no exporter and no nats-box."""

_MONITOR_PORT = 8222
_MOST_TEXT = 300
Json = Mapping[str, Any]


def kubernetes_facts(exchanges: Iterable[Exchange]) -> tuple[KubernetesFacts | None, list[Gap]]:
    """The facts among the exchanges of a run, and a gap where they cannot be read."""
    facts: KubernetesFacts | None = None
    gaps: list[Gap] = []
    for exchange in exchanges:
        if exchange.endpoint is Endpoint.KUBERNETES:
            try:
                facts = decode(exchange.body, KubernetesFacts)
            except ReplyError as error:
                subject = Subject(kind="cluster", name=f"namespace {exchange.target}")
                gaps.append(
                    Gap("kubernetes", subject, f"the objects of Kubernetes cannot be read: {error}", "try again")
                )
    return facts, gaps


def server_pods(pods: Iterable[Json]) -> tuple[ServerPod, ...]:
    """The pods with a container of nats-server, by name."""
    found = (pod for one in pods if (pod := _server_pod(one)) is not None)
    return tuple(sorted(found, key=lambda pod: pod.name))


def _server_pod(pod: Json) -> ServerPod | None:
    metadata, spec, status = (_object(pod, key) for key in ("metadata", "spec", "status"))
    container = next((one for one in _objects(spec, "containers") if _IMAGE.search(str(one.get("image") or ""))), None)
    name = metadata.get("name")
    if container is None or not isinstance(name, str):
        return None
    owners = [str(owner.get("name") or "") for owner in _objects(metadata, "ownerReferences")]
    named = (_object(volume, "persistentVolumeClaim").get("claimName") for volume in _objects(spec, "volumes"))
    unscheduled = (
        str(one.get("message") or one.get("reason") or "it has no node")
        for one in _objects(status, "conditions")
        if one.get("type") == "PodScheduled" and one.get("status") == "False"
    )
    unready, since = _unready(status, str(container.get("name") or ""))
    return ServerPod(
        name=name,
        node=str(spec.get("nodeName") or ""),
        phase=str(status.get("phase") or ""),
        owner=owners[0] if owners else "",
        deleting="deletionTimestamp" in metadata,
        unscheduled=next(unscheduled, ""),
        unready=unready,
        unready_since=since,
        mounts=_mounts(spec, container),
        claims=tuple(str(claim) for claim in named if claim),
        monitor_port=_monitor_port(container),
        container=_container(str(container.get("name") or ""), status),
    )


def _unready(status: Json, container: str) -> tuple[str, datetime | None]:
    """Why a pod is not ready and since when. A pod without that condition is as ready as its server's container."""
    ready = next((one for one in _objects(status, "conditions") if one.get("type") == "Ready"), None)
    if ready is None:
        shown = next((one for one in _objects(status, "containerStatuses") if one.get("name") == container), {})
        is_ready = shown.get("ready") is True
        return ("" if is_ready else "its container is not ready"), None if is_ready else _time(status.get("startTime"))
    if ready.get("status") == "True":
        return "", None
    why = str(ready.get("message") or ready.get("reason") or "no reason is given")
    return why, _time(ready.get("lastTransitionTime"))


def _mounts(spec: Json, container: Json) -> dict[str, str]:
    """Where the server has its claims, by the claim's name."""
    paths = {str(one.get("name")): str(one.get("mountPath") or "") for one in _objects(container, "volumeMounts")}
    found = {}
    for volume in _objects(spec, "volumes"):
        claim, path = _object(volume, "persistentVolumeClaim").get("claimName"), paths.get(str(volume.get("name")))
        if claim and path:
            found[str(claim)] = path
    return found


def _monitor_port(container: Json) -> int:
    ports = [port for port in _objects(container, "ports") if port.get("name") in ("monitor", "monitoring", "http")]
    number = ports[0].get("containerPort") if ports else None
    return number if isinstance(number, int) else _MONITOR_PORT


def _container(name: str, status: Json) -> ServerContainer:
    shown = next((one for one in _objects(status, "containerStatuses") if one.get("name") == name), {})
    state, last = _object(shown, "state"), _object(shown, "lastState")
    ended = _object(state, "terminated") or _object(last, "terminated")
    return ServerContainer(
        name=name,
        restarts=_whole(shown.get("restartCount")),
        waiting=str(_object(state, "waiting").get("reason") or ""),
        ended=str(ended.get("reason") or ""),
        exit_code=_whole(ended.get("exitCode")),
        ended_at=_time(ended.get("finishedAt")),
    )


def volume_claims(claims: Iterable[Json], of: Sequence[ServerPod]) -> tuple[VolumeClaim, ...]:
    """The claims of these pods, by name."""
    wanted = {claim for pod in of for claim in pod.claims}
    found = (
        VolumeClaim(
            name=str(_object(claim, "metadata").get("name")),
            phase=str(_object(claim, "status").get("phase") or ""),
            storage_class=str(_object(claim, "spec").get("storageClassName") or ""),
            bytes=_bytes(_object(_object(claim, "status"), "capacity").get("storage")),
        )
        for claim in claims
        if str(_object(claim, "metadata").get("name")) in wanted
    )
    return tuple(sorted(found, key=lambda claim: claim.name))


def storage_classes(classes: Iterable[Json]) -> dict[str, bool]:
    """The storage classes, and whether their volumes can be made larger."""
    return {str(_object(one, "metadata").get("name") or ""): one.get("allowVolumeExpansion") is True for one in classes}


def object_warnings(events: Iterable[Json], of: Sequence[ServerPod]) -> tuple[ObjectWarning, ...]:
    """The warnings about these pods and their claims, one for each object and reason, the newest first."""
    kinds = {pod.name: "Pod" for pod in of} | {claim: "PersistentVolumeClaim" for pod in of for claim in pod.claims}
    found: dict[tuple[str, str], ObjectWarning] = {}
    for event in events:
        about, series = _object(event, "involvedObject"), _object(event, "series")
        name = str(about.get("name") or "")
        if event.get("type") != "Warning" or kinds.get(name) != about.get("kind"):
            continue
        last = _time(event.get("lastTimestamp")) or _time(series.get("lastObservedTime"))
        warning = ObjectWarning(
            name=name,
            reason=str(event.get("reason") or "")[:_MOST_TEXT],
            message=" ".join(str(event.get("message") or "").split())[:_MOST_TEXT],
            count=max(1, _whole(event.get("count")), _whole(series.get("count"))),
            last=last or _time(event.get("eventTime")),
        )
        known = found.get((name, warning.reason))
        if known is None or _newer(warning) >= _newer(known):
            found[name, warning.reason] = warning
    return tuple(sorted(found.values(), key=_newer, reverse=True))


def _newer(warning: ObjectWarning) -> float:
    return warning.last.timestamp() if warning.last else 0.0


def disruption_budgets(budgets: Iterable[Json], pods: Sequence[Json]) -> tuple[DisruptionBudget, ...]:
    """The budgets that select a server pod. `pods` are as the API has them."""
    labels = {pod.name: _object(_object(one, "metadata"), "labels") for one in pods if (pod := _server_pod(one))}
    found = []
    for budget in budgets:
        metadata, spec = _object(budget, "metadata"), _object(budget, "spec")
        selected = tuple(sorted(name for name, own in labels.items() if _selects(_object(spec, "selector"), own)))
        if selected:
            found.append(
                DisruptionBudget(
                    name=str(metadata.get("name") or ""),
                    pods=selected,
                    min_available=_limit(spec.get("minAvailable")),
                    max_unavailable=_limit(spec.get("maxUnavailable")),
                )
            )
    return tuple(sorted(found, key=lambda budget: budget.name))


def _selects(selector: Json, labels: Json) -> bool:
    """Whether a label selector fits; an empty one selects every pod of the namespace (policy/v1)."""
    equal = all(labels.get(key) == value for key, value in _object(selector, "matchLabels").items())
    return equal and all(_fits(rule, labels) for rule in _objects(selector, "matchExpressions"))


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


def _object(value: Json, key: str) -> Json:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _objects(value: Json, key: str) -> Iterator[Json]:
    inner = value.get(key)
    return (one for one in (inner if isinstance(inner, list) else ()) if isinstance(one, dict))


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _bytes(value: object) -> int:
    return (quantity_bytes(value) or 0) if isinstance(value, str) else 0


def _limit(value: object) -> str:
    return "" if value is None else str(value)


def _time(value: object) -> datetime | None:
    try:
        return msgspec.convert(value, datetime) if isinstance(value, str) else None
    except msgspec.ValidationError:
        return None
