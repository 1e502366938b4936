"""Versions of servers as numbers, the version of a named server, and what changes with a release."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from jsdoctor.model.harm import Harm
from jsdoctor.model.server import ConnectedServer, Servers


@lru_cache
def release(version: str) -> tuple[int, ...]:
    """`2.12.8-RC.1` as (2, 12, 8); () for what is no version."""
    parts = version.partition("-")[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def version_at(name: str, servers: Servers | None, connected: ConnectedServer | None) -> str:
    """The version of the server of that name, else of the connected server; empty if neither is known."""
    reported = next((server.version for server in (servers.servers if servers else ()) if server.name == name), "")
    return reported or (connected.version if connected else "")


class ReleaseChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that came with `release`, as `rules/releases.toml` describes it.

    `going`: whether it counts for servers that move past that release, or back before it. It holds where the older of
    the two releases is before `below`, and `oldest` or later. `backport`: the release of the branch before that has it,
    too. `uses` names the condition that a deployment meets, empty where none is needed; no `harm`: it is a note.
    `measured`: pairs of releases on which it was seen.
    """

    id: str
    release: str
    going: Literal["up", "down"]
    what: str
    advice: str
    source: str
    uses: str = ""
    harm: Harm | None = None
    backport: str = ""
    below: str = ""
    oldest: str = msgspec.field(default="", name="from")
    measured: tuple[str, ...] = ()

    def concerns(self, running: str, target: str) -> bool:
        """Whether a server that runs one release and moves to the other meets it."""
        older, newer = (running, target) if self.going == "up" else (target, running)
        return (
            self._is_in(newer)
            and not self._is_in(older)
            and (not self.below or release(older) < release(self.below))
            and (not self.oldest or release(older) >= release(self.oldest))
        )

    def _is_in(self, version: str) -> bool:
        known, backport = release(version), release(self.backport)
        return known >= release(self.release) or (bool(backport) and known[:2] == backport[:2] and known >= backport)


class ApiLevel(msgspec.Struct, frozen=True):
    """The API level of releases from `since` on."""

    since: str
    level: int


class KnownReleases(msgspec.Struct, frozen=True):
    """All that jsdoctor knows of releases. `newest`: the newest of them."""

    newest: str
    levels: tuple[ApiLevel, ...] = msgspec.field(name="level")
    changes: tuple[ReleaseChange, ...] = msgspec.field(name="change")

    def level(self, version: str) -> int:
        """The API level of a release; 0 before there were any."""
        known = release(version)
        return max((each.level for each in self.levels if release(each.since) <= known), default=0)
