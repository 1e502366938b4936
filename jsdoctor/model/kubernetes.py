"""What Kubernetes says of the pods of nats-server in one namespace: containers, places, volumes, disruption budgets.

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

    `claims` are its PersistentVolumeClaims; `unscheduled` is why it has no node.
    """

    name: str
    node: str = ""
    phase: str = ""
    owner: str = ""
    deleting: bool = False
    unscheduled: str = ""
    claims: tuple[str, ...] = ()
    monitor_port: int = 8222
    container: ServerContainer

    @property
    def subject(self) -> Subject:
        """The server, which the Helm chart names after its pod."""
        return Subject(kind="server", name=self.name)


class VolumeClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A PersistentVolumeClaim."""

    name: str
    phase: str = ""
    storage_class: str = ""


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
    """One namespace at one moment. `nodes` is how many nodes the cluster has."""

    namespace: str
    at: datetime
    pods: tuple[ServerPod, ...] = ()
    claims: tuple[VolumeClaim, ...] | None = None
    budgets: tuple[DisruptionBudget, ...] | None = None
    nodes: int | None = None

    def observed(self, path: str, value: object) -> Observation:
        """A value of it as evidence."""
        source = f"namespace {self.namespace}" if self.namespace else "kubectl"
        return Observation(source=source, path=path, value=value, at=self.at)

    @property
    def remedy(self) -> dict[str, str]:
        """What `server.inspect_pod` needs. Output of kubectl that was pasted may not name the namespace."""
        return {"namespace": self.namespace} if self.namespace else {}

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
