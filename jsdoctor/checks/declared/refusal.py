"""Why a server refuses a configuration, and which releases do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import OLDEST, Release, rows


class ServerRefusal(NamedTuple):
    """One reason, the field at fault, and the error code of the server; 0 where servers differ in it.

    `since` is the first release that refuses it, `before` the first that no longer does; None: all later ones do.
    """

    field: str
    says: str
    err_code: int = 10052
    since: Release = OLDEST
    before: Release | None = None

    @property
    def text(self) -> str:
        """The reason with the server's code, by which logs and clients know it."""
        return f"{self.says} (error {self.err_code})" if self.err_code else self.says

    @property
    def everywhere(self) -> bool:
        """Whether every supported release refuses it: then no release needs to be known."""
        return self.since <= OLDEST and self.before is None

    @property
    def releases(self) -> str:
        """The releases that refuse it, in words."""
        first = "servers" if self.since <= OLDEST else f"servers from {_number(self.since)} on"
        return f"{first} before {_number(self.before)}" if self.before else first

    def applies(self, release: Release) -> bool:
        """Whether a server of this release refuses it; of an unknown one (empty) only what all refuse is certain."""
        if not release:
            return self.everywhere
        return release >= self.since and (self.before is None or release < self.before)


def certain(refusals: Iterable[ServerRefusal], release: Release) -> list[ServerRefusal]:
    """What a server of this release refuses for certain."""
    return [refusal for refusal in refusals if refusal.applies(release)]


def possible(refusals: Iterable[ServerRefusal], release: Release) -> list[ServerRefusal]:
    """What some servers refuse, where it is not known which one it will be."""
    return [] if release else [refusal for refusal in refusals if not refusal.everywhere]


def later_fields(config: StreamConfig | ConsumerConfig, release: Release) -> Iterator[ServerRefusal]:
    """Fields that are set and that a server of this release does not have: it leaves them out silently."""
    for row in rows(type(config)) if release else ():
        if release < row.setting.since and getattr(config, row.attribute) not in (row.default, "none", "default"):
            text = f"{row.name}: servers before {_number(row.setting.since)} drop it without an error"
            yield ServerRefusal(row.name, text, 0)


def _number(release: Release) -> str:
    return ".".join(str(part) for part in release)
