"""Pods that somebody pasted, from `kubectl get pods` as a table or as JSON: those of nats-server become facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.kubernetes import KubernetesFacts, ServerContainer, ServerPod
from jsdoctor.parse.kubernetes import server_pods
from jsdoctor.parse.pasted.found import RecognisedDocument

_SERVER = re.compile(r"(?:[a-z0-9]+-)*nats(?:-(?!box|exporter|surveyor|streaming|operator|account)[a-z0-9]+)*-\d+|nats")
"""A table shows no image: servers are the numbered pods of a StatefulSet with `nats` in its name."""

_BROKEN = frozenset(
    {"CrashLoopBackOff", "Error", "OOMKilled", "ImagePullBackOff", "ErrImagePull", "InvalidImageName"}
    | {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)
_READY = re.compile(r"(\d+)/\1")


def pods_of_document(value: object, at: datetime) -> RecognisedDocument | None:
    """The server pods of a Pod, a PodList or a List, with their status; None where it has none."""
    if not isinstance(value, Mapping):
        return None
    items = [value] if value.get("kind") == "Pod" else value.get("items")
    pods = [item for item in items if _is_pod(item)] if isinstance(items, list) else []
    named = (pod["metadata"].get("namespace") for pod in pods if isinstance(pod.get("metadata"), Mapping))
    return _found(server_pods(pods), at, str(next(named, None) or ""))


def _is_pod(value: object) -> bool:
    shown = isinstance(value, Mapping) and isinstance(value.get("status"), Mapping)
    return shown and isinstance(value, Mapping) and value.get("kind", "Pod") == "Pod"


def pods_of_rows(
    rows: Sequence[Mapping[str, str]], at: datetime
) -> tuple[RecognisedDocument | None, list[Mapping[str, str]]]:
    """The server pods whose row shows all that matters, and the rows that are left."""
    judged = [row for row in rows if _SERVER.fullmatch(row["name"]) and _is_plain(row)]
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
    return _found(pods, at), [row for row in rows if row not in judged]


def _is_plain(row: Mapping[str, str]) -> bool:
    """Whether a row says why a pod does not run, or that it runs and was never restarted."""
    count = row["restarts"].partition(" ")[0]
    if not count.isdecimal():
        return False
    runs = row["status"] == "Running" and _READY.fullmatch(row["ready"]) is not None and count == "0"
    return runs or row["status"] in _BROKEN


def _found(pods: Sequence[ServerPod], at: datetime, namespace: str = "") -> RecognisedDocument | None:
    if not pods:
        return None
    facts: Any = msgspec.to_builtins(KubernetesFacts(namespace=namespace, at=at, pods=tuple(pods)))
    return RecognisedDocument(Endpoint.KUBERNETES, Access.KUBERNETES, facts)
