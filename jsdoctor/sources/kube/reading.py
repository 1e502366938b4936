"""Reads a namespace once: the pods of nats-server, and the objects around them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod
from jsdoctor.model.problems import ConnectProblem
from jsdoctor.replies.kubernetes import (
    disruption_budgets,
    object_warnings,
    server_pods,
    server_sets,
    set_sizes,
    storage_classes,
    volume_claims,
)
from jsdoctor.replies.kubernetes_configurations import read_configurations
from jsdoctor.sources.kube.proxy import KubeApi, RefusedError
from jsdoctor.sources.servers.monitor_url import through_kubectl

_PAGE_OBJECTS = 500
_EXPIRED = 410
"""The status for a page of a list whose state etcd has dropped since the first page."""


@dataclass(frozen=True, slots=True)
class KubeSample:
    """The content of a namespace. `gaps` name the permissions that the login lacks."""

    facts: KubernetesFacts
    gaps: tuple[Gap, ...]

    @property
    def exchange(self) -> Exchange:
        """The facts as captures keep them."""
        facts = self.facts
        return Exchange(
            Access.KUBERNETES, Endpoint.KUBERNETES, facts.namespace, facts.at, 0, msgspec.json.encode(facts)
        )

    def monitoring(self, socket: str) -> tuple[str, ...]:
        """The monitoring ports of the pods that run, through the proxy at `socket`."""
        running = (pod for pod in self.facts.pods if pod.phase == "Running" and not pod.container.waiting)
        return tuple(
            through_kubectl(socket, f"{_pod_path(self.facts, pod)}:{pod.monitor_port}/proxy") for pod in running
        )


def read_cluster(api: KubeApi, namespace: str) -> KubeSample:
    """The pods of nats-server in a namespace and their surroundings.

    Raises ConnectProblem where no pod can be listed. A part that the login may not list is a gap, and None.
    """
    at = datetime.now(UTC)
    inside = f"/namespaces/{quote(namespace)}"
    try:
        pods = _listed(api, f"/api/v1{inside}/pods")
    except RefusedError as error:
        hint = f"allow `list` on pods in namespace {namespace}, or choose another with --namespace or --kube-context"
        raise ConnectProblem(f"Kubernetes refuses: {error}", hint) from None
    servers = server_pods(pods)
    gaps: list[Gap] = []

    def optional(path: str, what: str, query: Sequence[str] = (), *, requested: bool = True) -> list[Any] | None:
        """The objects of a list; None, with a gap, if it cannot be read."""
        try:
            return _listed(api, path, query)
        except RefusedError as error:
            subject = Subject(kind="cluster", name=f"{what} of Kubernetes")
            reason = f"Kubernetes refuses: {error}"
            gaps.append(Gap("kubernetes", subject, reason, f"allow `list` on {what}", requested=requested))
            return None
        except ConnectProblem as problem:
            subject = Subject(kind="cluster", name=f"{what} of Kubernetes")
            gaps.append(Gap("kubernetes", subject, problem.message, problem.hint, requested=requested))
            return None

    if any(pod.sidecar for pod in servers):
        servers = server_pods(pods, optional(f"/api/v1{inside}/services", "services"))
    claims = optional(f"/api/v1{inside}/persistentvolumeclaims", "persistentvolumeclaims")
    budgets = optional(f"/apis/policy/v1{inside}/poddisruptionbudgets", "poddisruptionbudgets")
    events = optional(f"/api/v1{inside}/events", "events", ("fieldSelector=type%3DWarning",))
    # Most users may list nothing of the whole cluster, and few verdicts depend on it.
    nodes = optional("/api/v1/nodes", "nodes", requested=False)
    classes = optional("/apis/storage.k8s.io/v1/storageclasses", "storageclasses", requested=False)
    sets = optional(f"/apis/apps/v1{inside}/statefulsets", "statefulsets")
    own_sets = None if sets is None else server_sets(sets, servers)
    maps = _ConfigMaps(api, inside)
    configurations = read_configurations(pods, set_sizes(own_sets, servers), maps.read)
    gaps.extend(maps.gaps)
    gaps.extend(_secret_gaps(servers))
    facts = KubernetesFacts(
        namespace=namespace,
        at=at,
        pods=servers,
        claims=None if claims is None else volume_claims(claims, servers),
        budgets=None if budgets is None else disruption_budgets(budgets, pods),
        nodes=None if nodes is None else len(nodes),
        expandable=None if classes is None else storage_classes(classes),
        warnings=None if events is None else object_warnings(events, servers),
        sets=own_sets,
        configurations=configurations,
    )
    return KubeSample(facts, tuple(gaps))


class _ConfigMaps:
    """The ConfigMaps that servers mount, each read once. Many logins may not read them: that gap is not requested."""

    def __init__(self, api: KubeApi, inside: str) -> None:
        self.gaps: list[Gap] = []
        self._api, self._inside = api, inside
        self._known: dict[str, dict[str, Any] | None] = {}

    def read(self, name: str) -> dict[str, Any] | None:
        """One ConfigMap; None, with a gap, if it cannot be read."""
        if name not in self._known:
            self._known[name] = self._get(name)
        return self._known[name]

    def _get(self, name: str) -> dict[str, Any] | None:
        path = f"/api/v1{self._inside}/configmaps/{quote(name)}"
        try:
            result = json.loads(self._api.get(path))
        except RefusedError as error:
            self._gap(name, f"Kubernetes refuses: {error}", f"allow `get` on configmaps, at least on {name}")
        except ConnectProblem as problem:
            self._gap(name, problem.message, problem.hint)
        except (ValueError, RecursionError):
            self._gap(name, f"the reply to {path} is no object", "try kubectl get configmap")
        else:
            if isinstance(result, dict):
                return result
            self._gap(name, f"the reply to {path} is no object", "try kubectl get configmap")
        return None

    def _gap(self, name: str, reason: str, how: str) -> None:
        subject = Subject(kind="cluster", name=f"ConfigMap {name} of Kubernetes")
        self.gaps.append(Gap("kubernetes", subject, f"the configuration of servers: {reason}", how, requested=False))


def _secret_gaps(pods: Sequence[ServerPod]) -> Iterator[Gap]:
    """A gap for each Secret with a configuration: Secrets are not read."""
    held = dict.fromkeys(pod.configuration.split("/")[1] for pod in pods if pod.configuration.startswith("secret/"))
    for name in held:
        subject = Subject(kind="cluster", name=f"Secret {name} of Kubernetes")
        reason = f"the configuration of servers is in the Secret {name}, and Secrets are not read"
        yield Gap("kubernetes", subject, reason, "judge the file: --manifest nats.conf", requested=False)


def log_path(facts: KubernetesFacts, pod: ServerPod, since_s: int, most_bytes: int, *, previous: bool = False) -> str:
    """Where the API has the log of a pod's server, or of the run before its last restart."""
    run = "&previous=true" if previous else ""
    limits = f"sinceSeconds={since_s}&limitBytes={most_bytes}"
    return f"{_pod_path(facts, pod)}/log?container={quote(pod.container.name)}&{limits}{run}"


def _pod_path(facts: KubernetesFacts, pod: ServerPod) -> str:
    return f"/api/v1/namespaces/{quote(facts.namespace)}/pods/{quote(pod.name)}"


def _listed(api: KubeApi, path: str, query: Sequence[str] = ()) -> list[Any]:
    """All objects of a list, page by page. Raises RefusedError and ConnectProblem.

    A list that expires between two pages is requested again in one piece, as kubectl does.
    """
    listed: list[Any] = []
    token = ""
    used: set[str] = set()
    while True:
        options = (f"limit={_PAGE_OBJECTS}", *query, *([f"continue={quote(token, safe='')}"] if token else ()))
        try:
            items, token = _page(api, path, options)
        except RefusedError as error:
            if error.status != _EXPIRED or not token:
                raise
            return _page(api, path, query)[0]
        listed.extend(items)
        if not token:
            return listed
        if token in used:
            raise ConnectProblem(f"the API of Kubernetes: the pages of {path} do not end", "try kubectl get pods")
        used.add(token)


def _page(api: KubeApi, path: str, options: Sequence[str]) -> tuple[list[Any], str]:
    """The objects of one reply, and the token of the next page. Raises RefusedError and ConnectProblem."""
    try:
        listed = json.loads(api.get(f"{path}?{'&'.join(options)}" if options else path))
    except (ValueError, RecursionError):
        listed = None
    # An empty list is `[]` or null; a reply without that key is no list, and must not count as an empty one.
    if not isinstance(listed, dict) or not isinstance(listed.get("items", 0), list | None):
        raise ConnectProblem(f"the API of Kubernetes: the reply to {path} is no list", "try kubectl get pods")
    metadata = listed.get("metadata")
    token = metadata.get("continue") if isinstance(metadata, dict) else None
    return [item for item in listed["items"] or () if isinstance(item, dict)], str(token or "")
