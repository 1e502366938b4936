"""Findings that do not count: waived for a reason until a day, accepted in a baseline, or older than a change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import msgspec

from jsdoctor.model.evidence import Evidence, not_offered
from jsdoctor.model.finding import Severity

BASELINE_SCHEMA = "jsdoctor.baseline/v1"

EXISTING = "existing"
"""Kind of suppression of what a change of manifests neither causes nor touches."""


class Waiver(msgspec.Struct, frozen=True):
    """One `[[suppress]]` of the configuration file, its position in the file, and the codes of its rules.

    `subject` is a pattern of subjects' labels, such as `APP > ORDERS > *`. It holds to the end of the day `expires`.
    """

    rule: str
    subject: str
    reason: str
    expires: date
    origin: str
    line: int
    codes: frozenset[str] = frozenset()

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.expires


class Accepted(msgspec.Struct, frozen=True):
    """A finding of a baseline. If it has become more severe since, it is no longer accepted."""

    fingerprint: str
    code: str
    subject: str
    severity: Severity


class Baseline(msgspec.Struct, frozen=True):
    """Findings that were there when it was written, by fingerprint."""

    origin: str
    accepted: Mapping[str, Accepted]


class Suppression(msgspec.Struct, frozen=True):
    """Why a finding does not count. `kind` is waiver, baseline or existing; a waiver ends with the day `expires`."""

    kind: str
    reason: str
    expires: date | None = None

    @property
    def words(self) -> str:
        """The suppression as text: `waived until 2026-12-31: the migration ends then`."""
        return f"waived until {self.expires}: {self.reason}" if self.expires else self.reason


class WaiverUse(msgspec.Struct, frozen=True):
    """The result of one waiver in this run.

    `matched`: findings that match it, whether it holds or has expired. `judged`: whether all its rules were evaluated.
    """

    waiver: Waiver
    matched: int
    judged: bool
    expired: bool


class Suppressions(Evidence, frozen=True):
    """All waivers of this run."""

    unavailable = not_offered("nothing is waived", "waive with [[suppress]] in jsdoctor.toml", kind="configuration")

    uses: tuple[WaiverUse, ...] = ()
