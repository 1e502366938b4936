"""Whether servers can be taken down, or run another release: what stands in the way, what happens besides, what was not
seen.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.harm import Harm
from jsdoctor.model.report import EvidenceOrigin

SCHEMA = "jsdoctor.preflight/v1"


class GoNoGo(StrEnum):
    """Whether it can be done. `UNKNOWN`: what was seen does not decide it."""

    GO = "go"
    NO_GO = "no_go"
    UNKNOWN = "unknown"


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """A reason not to do it now.

    `message` goes on after the name of the subject, and is the same for all subjects of one cause. `holds` is what the
    subject has at stake. `members` are those of its group, `remaining` those that would be left, `behind` those of them
    that are not current. `replicas`: so many would take the obstacle away. `commands` do, and `login` is the one that
    they need and that the run did not have.
    """

    harm: Harm
    subject: Subject
    message: str
    advice: str
    holds: str = ""
    members: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    replicas: int = 0
    commands: tuple[str, ...] = ()
    login: str = ""
    accepted: bool = False


class SideEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What happens besides, and does not stand in the way. `kind` is a word for machines."""

    kind: str
    message: str
    count: int
    names: tuple[str, ...] = ()


class Preflight(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one choice of servers, or for the release `target` on all of them, which run `running` now.

    `gone` are members that no leader has contact with now; `groups` is how many Raft groups have a member on the
    servers. `spare` is how many more members the weakest of these groups could lose afterwards; None where there is no
    group.
    """

    without: tuple[str, ...] = ()
    target: str = ""
    running: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    groups: int = 0
    spare: int | None = None
    obstacles: tuple[Obstacle, ...] = ()
    effects: tuple[SideEffect, ...] = ()
    unseen: tuple[Gap, ...] = ()

    @property
    def standing(self) -> tuple[Obstacle, ...]:
        """The obstacles that were not accepted."""
        return tuple(obstacle for obstacle in self.obstacles if not obstacle.accepted)

    @property
    def verdict(self) -> GoNoGo:
        """An obstacle outranks what was not seen."""
        if self.standing:
            return GoNoGo.NO_GO
        return GoNoGo.UNKNOWN if self.unseen else GoNoGo.GO


class PreflightReport(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run: one, or with `each` one for each server."""

    version: str
    started: datetime
    finished: datetime
    headline: str
    sources: tuple[EvidenceOrigin, ...]
    results: tuple[Preflight, ...]
    each: bool = False

    @property
    def verdict(self) -> GoNoGo:
        """The worst of all results."""
        verdicts = {result.verdict for result in self.results}
        return next((v for v in (GoNoGo.NO_GO, GoNoGo.UNKNOWN) if v in verdicts), GoNoGo.GO)
