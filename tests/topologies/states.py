"""Healthy deployments, declared: how each is started, which habits live there, and who looks at it.

`test_healthy_states.py` looks at every one of them while its clients work and after they have stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jsdoctor import ConnectionOptions
from tests.topologies.deployments import HUB
from tests.topologies.habits import Habit
from tests.topologies.healthy import of_habits
from tests.topologies.landscape import Landscape

Login = dict[str, Any]
"""What `jsdoctor.check` takes to look at a deployment."""
PATIENCE_S = 30.0
"""For each request: whether the machine of a test is busy is no property of the deployment."""
COMMON = ("QUEUE", "INTEREST", "ORIGIN", "KV_plain")


@dataclass
class Applications:
    """Clients that work with one account of a deployment."""

    url: str
    replicas: int = 1
    habits: tuple[str, ...] = COMMON
    login: dict[str, Any] = field(default_factory=dict)

    @property
    def chosen(self) -> list[Habit]:
        """Their habits."""
        return of_habits(*self.habits)


@dataclass
class Setting:
    """A deployment that has been started."""

    applications: list[Applications]
    logins: list[Login]


Build = Callable[[Landscape], Setting]


@dataclass
class State:
    """One healthy deployment and the first version that has what it needs."""

    build: Build
    since: tuple[int, int] = (2, 10)

    @property
    def name(self) -> str:
        """The name of the function that builds it."""
        return self.build.__name__

    def fits(self, version: str) -> bool:
        """Whether that version has what it needs."""
        return tuple(int(part) for part in version.split(".")[:2]) >= self.since


class States(list[State]):
    """Healthy deployments of one module."""

    def state(self, since: tuple[int, int] = (2, 10)) -> Callable[[Build], Build]:
        """Register one."""

        def register(build: Build) -> Build:
            self.append(State(build, since))
            return build

        return register


def connects(url: str, **options: Any) -> Login:
    """A client connection."""
    return {"deployment": ConnectionOptions(server=url, no_context=True, timeout=PATIENCE_S, **options)}


def monitors(land: Landscape, *keys: str) -> Login:
    """The monitoring ports of those servers."""
    patient = ConnectionOptions(no_context=True, timeout=PATIENCE_S)
    return {"deployment": patient, "monitor": [land.node(key).monitor_url for key in keys]}


def usual(land: Landscape, keys: list[str], habits: tuple[str, ...] = COMMON, replicas: int = 0) -> Setting:
    """Applications of the account APP, and all three kinds of access to these servers."""
    working = Applications(land.url(*keys), replicas or min(3, len(keys)), habits)
    logins = [connects(land.url(*keys, user="sys")), connects(land.url(*keys)), monitors(land, *keys)]
    return Setting([working], logins)


def at_the_hub(land: Landscape, *sites: str) -> Setting:
    """Applications at the hub; looks from the hub, and from each of the sites."""
    setting = usual(land, HUB)
    setting.logins += [connects(land.url(site, user=user)) for site in sites for user in ("sys", "app")]
    return setting
