"""What Kubernetes reports on the pods of nats-server in one namespace: containers, nodes, volumes, budgets, events.

A part that the login may not read is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from jsdoctor.model.finding import Observation, Subject


class ServerContainer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The container of nats-server. `waiting` is why it does not run now, `ended` why its previous run ended."""

    name: str
    restarts: int = 0
    waiting: str = ""
    ended: str = ""
    exit_code: int = 0
    ended_at: datetime | None = None


class ServerPod(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pod that runs nats-server. `owner` is its StatefulSet or Deployment.

    `claims` are its PersistentVolumeClaims, `mounts` the directories where the server has them; `unscheduled` is why it
    has no node, `unready` why it is not ready.
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
            return _share(self.max_unavailable, count)
        kept = _share(self.min_available, count) if self.min_available else None
        return None if kept is None else max(0, count - kept)


class KubernetesFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One namespace at one moment. `nodes` is how many nodes the cluster has.

    `expandable` are the storage classes, and whether their volumes can be made larger. `warnings` are the newest first.
    """

    namespace: str
    at: datetime
    pods: tuple[ServerPod, ...] = ()
    claims: tuple[VolumeClaim, ...] | None = None
    budgets: tuple[DisruptionBudget, ...] | None = None
    nodes: int | None = None
    expandable: dict[str, bool] | None = None
    warnings: tuple[ObjectWarning, ...] | None = None

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
        latest = next((one for one in self.warnings or () if one.name in names), None)
        return "" if latest is None else f"; Kubernetes warned of {latest.name}: {latest.reason}, {latest.message}"

    def groups(self) -> Mapping[str, tuple[ServerPod, ...]]:
        """The pods that are not being deleted, by the StatefulSet that owns them."""
        found: dict[str, list[ServerPod]] = {}
        for pod in self.pods:
            if not pod.deleting:
                found.setdefault(pod.owner or pod.name, []).append(pod)
        return {owner: tuple(pods) for owner, pods in sorted(found.items())}


def _share(limit: str, count: int) -> int | None:
    """Kubernetes rounds percentages up."""
    number = limit.removesuffix("%")
    if not number.isdecimal():
        return None
    return -(-int(number) * count // 100) if limit.endswith("%") else int(number)
