"""What Kubernetes reports on the pods of nats-server in one namespace: containers, nodes, volumes, budgets, events.

A part that the login may not read is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from urllib.parse import parse_qs, urlsplit

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.manifest import DeclaredServers
from jsdoctor.model.sidecar import Sidecar

_LOCAL_CHECK_SINCE = (2, 11)


class ProbeScope(StrEnum):
    """What must be well for a probe to succeed (server: monitor.go healthz). Each includes the ones before it.

    `SERVER` is the meta group up to 2.10, and JetStream of the server alone from 2.11 on.
    """

    PROCESS = "process"
    JETSTREAM = "JetStream"
    SERVER = "server"
    META_GROUP = "meta group"
    ASSETS = "streams and consumers"


class ContainerProbe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A probe of a container. `path` is what it requests over HTTP, itself or by a command; empty: it opens a port."""

    path: str = ""
    delay_s: int = 0
    period_s: int = 10
    failures: int = 3

    @property
    def patience_s(self) -> int:
        """How long a container may fail it from its start on."""
        return self.delay_s + self.period_s * self.failures

    @property
    def scope(self) -> ProbeScope:
        """What its path judges."""
        parts = urlsplit(self.path)
        if not parts.path.endswith("/healthz"):
            return ProbeScope.PROCESS
        parameters = {
            name for name, values in parse_qs(parts.query).items() if values[-1].lower() in ("true", "1", "t")
        }
        if parameters & {"js-enabled-only", "js-enabled"}:
            return ProbeScope.JETSTREAM
        if "js-server-only" in parameters:
            return ProbeScope.SERVER
        return ProbeScope.META_GROUP if "js-meta-only" in parameters else ProbeScope.ASSETS

    def scope_at(self, version: tuple[int, ...]) -> ProbeScope:
        """What its path judges on a server of this version; `SERVER` where that decides and is not known."""
        if self.scope is not ProbeScope.SERVER or not version:
            return self.scope
        return ProbeScope.META_GROUP if version < _LOCAL_CHECK_SINCE else ProbeScope.JETSTREAM


class Shutdown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a pod is stopped: whether its server gets the signal for lame duck mode, and what the hook waits for."""

    grace_s: int = 30
    lame_duck: bool = False
    before_s: int = 0
    after_s: int = 0


class ServerContainer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The container of nats-server. `waiting` is why it does not run now, `ended` why its previous run ended.

    Sizes are bytes, 0: none. `go_memory_limit` is None where GOMEMLIMIT comes from somewhere else.
    """

    name: str
    image: str = ""
    memory_limit: int = 0
    go_memory_limit: int | None = 0
    startup: ContainerProbe | None = None
    readiness: ContainerProbe | None = None
    liveness: ContainerProbe | None = None
    restarts: int = 0
    waiting: str = ""
    ended: str = ""
    exit_code: int = 0
    ended_at: datetime | None = None


class ServerPod(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pod that runs nats-server. `owner` is its StatefulSet or Deployment.

    `claims` are its PersistentVolumeClaims, `mounts` the directories where the server has them; `unscheduled` is why it
    has no node, `unready` why it is not ready. `revision` is that of its owner's template. `configuration` is where its
    server's file comes from: `configmap/NAME/KEY` or `secret/NAME/KEY`; empty where neither holds it.
    """

    name: str
    node: str = ""
    phase: str = ""
    owner: str = ""
    deleting: bool = False
    unscheduled: str = ""
    unready: str = ""
    unready_since: datetime | None = None
    mounts: dict[str, str] = {}
    claims: tuple[str, ...] = ()
    monitor_port: int = 8222
    revision: str = ""
    started: datetime | None = None
    configuration: str = ""
    shutdown: Shutdown | None = None
    sidecar: Sidecar | None = None
    container: ServerContainer

    @property
    def subject(self) -> Subject:
        """The server, which the Helm chart names after its pod."""
        return Subject(kind="server", name=self.name)


class VolumeClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A PersistentVolumeClaim. `bytes` is the capacity of its volume, 0 where it has none yet."""

    name: str
    phase: str = ""
    storage_class: str = ""
    bytes: int = 0


class ObjectWarning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last event of type Warning with one reason about a server pod or its claim: `name` is that object's."""

    name: str
    reason: str = ""
    message: str = ""
    count: int = 1
    last: datetime | None = None


class DisruptionBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A PodDisruptionBudget. `pods` are the server pods that it selects; the limits are numbers or percentages."""

    name: str
    pods: tuple[str, ...] = ()
    min_available: str = ""
    max_unavailable: str = ""

    def allowed_at_once(self) -> int | None:
        """How many of its pods may be down at once by its limits; None where a limit is no number or percentage."""
        count = len(self.pods)
        if self.max_unavailable:
            return _pods_of_limit(self.max_unavailable, count)
        kept = _pods_of_limit(self.min_available, count) if self.min_available else None
        return None if kept is None else max(0, count - kept)


class ServerSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A StatefulSet of servers. `ordered`: it starts a pod when the one before is ready. `by_hand`: it replaces no pods
    of an earlier revision itself, or not all of them.
    """

    name: str
    replicas: int = 1
    ordered: bool = False
    by_hand: bool = False


class PodConfiguration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A configuration of servers in a ConfigMap, by the name that pods have for it, and when it was last changed."""

    name: str
    changed: datetime | None = None
    servers: DeclaredServers


class KubernetesFacts(Evidence, frozen=True, kw_only=True, omit_defaults=True):
    """One namespace at one moment. `nodes` is how many nodes the cluster has.

    `expandable` are the storage classes, and whether their volumes can be made larger. `warnings` are the newest first.
    """

    source = EvidenceSource.KUBERNETES
    unavailable = not_offered(
        "Kubernetes was not queried", "where the servers run in Kubernetes: --kube -n NAMESPACE", kind="kubernetes"
    )
    endpoints = (Endpoint.KUBERNETES,)

    namespace: str
    at: datetime
    pods: tuple[ServerPod, ...] = ()
    claims: tuple[VolumeClaim, ...] | None = None
    budgets: tuple[DisruptionBudget, ...] | None = None
    nodes: int | None = None
    expandable: dict[str, bool] | None = None
    warnings: tuple[ObjectWarning, ...] | None = None
    sets: tuple[ServerSet, ...] | None = None
    configurations: tuple[PodConfiguration, ...] = ()

    def configuration_of(self, pod: ServerPod) -> PodConfiguration | None:
        """The configuration of a pod's server; None where it was not read."""
        return next(
            (configuration for configuration in self.configurations if configuration.name == pod.configuration), None
        )

    def observed(self, path: str, value: object) -> Observation:
        """A value of it as evidence."""
        source = f"namespace {self.namespace}" if self.namespace else "kubectl"
        return Observation(source=source, path=path, value=value, at=self.at)

    @property
    def remedy(self) -> dict[str, str]:
        """What `server.inspect_pod` needs. Output of kubectl that was pasted may not name the namespace."""
        return {"namespace": self.namespace} if self.namespace else {}

    def warning_of(self, *names: str) -> str:
        """The newest warning about one of these objects, as a clause to append; empty where there is none."""
        latest = next((warning for warning in self.warnings or () if warning.name in names), None)
        return "" if latest is None else f"; Kubernetes warned of {latest.name}: {latest.reason}, {latest.message}"

    def groups(self) -> Mapping[str, tuple[ServerPod, ...]]:
        """The pods that are not being deleted, by the StatefulSet that owns them."""
        server_pods: dict[str, list[ServerPod]] = {}
        for pod in self.pods:
            if not pod.deleting:
                server_pods.setdefault(pod.owner or pod.name, []).append(pod)
        return {owner: tuple(pods) for owner, pods in sorted(server_pods.items())}


def _pods_of_limit(limit: str, count: int) -> int | None:
    """A limit of a budget as a number of pods, percentages rounded up as Kubernetes does; None if it is neither."""
    number = limit.removesuffix("%")
    if not number.isdecimal():
        return None
    return -(-int(number) * count // 100) if limit.endswith("%") else int(number)
