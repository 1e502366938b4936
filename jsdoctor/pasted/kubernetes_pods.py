"""Pods that somebody pasted, from `kubectl get pods` as a table or as JSON: those of nats-server become facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from jsdoctor.manifests.kubernetes_containers import Json, inner, moment, text
from jsdoctor.manifests.tree import ManifestError
from jsdoctor.model.duration import parse_duration
from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.kubernetes import KubernetesFacts, ServerContainer, ServerPod
from jsdoctor.pasted.found import RecognisedDocument
from jsdoctor.replies.kubernetes import server_pods

_SERVER = re.compile(r"(?:[a-z0-9]+-)*nats(?:-(?!box|exporter|surveyor|streaming|operator|account)[a-z0-9]+)*-\d+|nats")
"""A table shows no image: servers are the numbered pods of a StatefulSet with `nats` in its name."""

_BROKEN = frozenset(
    {"CrashLoopBackOff", "Error", "OOMKilled", "ImagePullBackOff", "ErrImagePull", "InvalidImageName"}
    | {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)
_EVENTS = (
    (re.compile(r"Back-off restarting failed container(?:$| nats\b| in pod)"), "CrashLoopBackOff"),
    (re.compile(r"Back-off pulling image|Error: (?:ErrImagePull|ImagePullBackOff)"), "ImagePullBackOff"),
)
"""What events report of a container that does not run."""
_EVENTS_IN_YAML = re.compile(r"^[ -]*involvedObject:\s*$", re.MULTILINE)
_AGE = re.compile(r"(?:\d+[dhms])+")
_READY = re.compile(r"(\d+)/\1")


def pods_of_document(value: object, at: datetime) -> RecognisedDocument | None:
    """The server pods of a Pod, an Event or a list of either, with their status; None if there are none."""
    if not isinstance(value, Mapping):
        return None
    items = [value] if value.get("kind") in ("Pod", "Event") else value.get("items")
    items = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    if events := [item for item in items if "involvedObject" in item]:
        return _document(pods_of_events(events), max(filter(None, map(_last_seen, events)), default=at))
    pods = [item for item in items if _is_pod(item)]
    named = (pod["metadata"].get("namespace") for pod in pods if isinstance(pod.get("metadata"), Mapping))
    return _document(server_pods(pods), at, str(next(named, None) or ""))


def pods_of_yaml(text: str, at: datetime) -> Iterator[RecognisedDocument]:
    """The server pods of `kubectl get events -o yaml`; nothing where PyYAML is not installed."""
    if not _EVENTS_IN_YAML.search(text):
        return
    try:
        from jsdoctor.manifests.yaml_tree import yaml_documents  # noqa: PLC0415 - only where YAML is read

        for document in yaml_documents("", text):
            if pods := pods_of_document(document.plain(), at):
                yield pods
    except (ImportError, ManifestError):
        return


def _is_pod(value: object) -> bool:
    shown = isinstance(value, Mapping) and isinstance(value.get("status"), Mapping)
    return shown and isinstance(value, Mapping) and value.get("kind", "Pod") == "Pod"


def pods_of_events(events: Sequence[Json]) -> tuple[ServerPod, ...]:
    """The server pods with a fault in their events, unless a later event says that they were scheduled or started.

    A node reports a process that it killed without the pod, so such a pod is named after its node.
    """
    pods: dict[str, ServerPod] = {}
    for event in sorted(events, key=lambda event: _last_seen(event) or datetime.min.replace(tzinfo=UTC)):
        kind, name = (text(inner(event, "involvedObject"), key) for key in ("kind", "name"))
        message, reason = " ".join(text(event, "message").split()), text(event, "reason")
        if kind == "Node" and reason == "OOMKilling" and "(nats-server)" in message:
            ended = ServerContainer(name="nats", ended="OOMKilled", ended_at=_last_seen(event), exit_code=137)
            server = f"nats-server on {name}"
            pods[server] = ServerPod(name=server, unready="its process was ended", container=ended)
        elif kind == "Pod" and _SERVER.fullmatch(name):
            if reason in ("Started", "Scheduled"):
                pods.pop(name, None)
            waiting = next((state for words, state in _EVENTS if words.search(message)), "")
            if waiting or reason == "FailedScheduling":
                unscheduled = "" if waiting else message
                container = ServerContainer(name="nats", waiting=waiting)
                pods[name] = ServerPod(name=name, unscheduled=unscheduled, container=container)
    return tuple(pods.values())


def _last_seen(event: Json) -> datetime | None:
    return moment(event.get("lastTimestamp")) or moment(event.get("eventTime"))


def pods_of_event_rows(rows: Sequence[Mapping[str, str]], at: datetime) -> RecognisedDocument | None:
    """The server pods with a fault in a table of events, whose ages count back from `at`."""
    events: list[Json] = []
    for row in rows:
        kind, _, name = row["object"].partition("/")
        age = parse_duration(row["last seen"]) if _AGE.fullmatch(row["last seen"]) else 0
        last = (at - timedelta(microseconds=age // 1000)).isoformat()
        about = {"kind": kind.capitalize(), "name": name}
        parts = {"involvedObject": about, "reason": row["reason"], "message": row["message"], "lastTimestamp": last}
        events.append(parts)
    return _document(pods_of_events(events), at)


def pods_of_rows(
    rows: Sequence[Mapping[str, str]], at: datetime
) -> tuple[RecognisedDocument | None, list[Mapping[str, str]]]:
    """The server pods whose row says whether they run, and the rows of all other pods."""
    judged = [row for row in rows if _SERVER.fullmatch(row["name"]) and _is_conclusive(row)]
    pods = tuple(
        ServerPod(
            name=row["name"],
            phase="Running",
            container=ServerContainer(
                name="nats",
                restarts=int(row["restarts"].partition(" ")[0]),
                waiting=row["status"] if row["status"] in _BROKEN else "",
            ),
        )
        for row in judged
    )
    return _document(pods, at), [row for row in rows if row not in judged]


def _is_conclusive(row: Mapping[str, str]) -> bool:
    """Whether a row says why a pod does not run, or that it runs and was never restarted."""
    count = row["restarts"].partition(" ")[0]
    if not count.isdecimal():
        return False
    runs = row["status"] == "Running" and _READY.fullmatch(row["ready"]) is not None and count == "0"
    return runs or row["status"] in _BROKEN


def _document(pods: Sequence[ServerPod], at: datetime, namespace: str = "") -> RecognisedDocument | None:
    if not pods:
        return None
    facts: Any = msgspec.to_builtins(KubernetesFacts(namespace=namespace, at=at, pods=tuple(pods)))
    return RecognisedDocument(Endpoint.KUBERNETES, Access.KUBERNETES, facts)
