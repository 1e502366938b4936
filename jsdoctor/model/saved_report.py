"""A report that was written earlier (`jsdoctor.report/v1`), as far as two of them are compared."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.finding import Outcome, Severity, Subject


class SavedObservation(msgspec.Struct, frozen=True):
    """One entry of the evidence of a result: the server, file or bundle that showed it."""

    source: str = ""


class SavedResult(msgspec.Struct, frozen=True):
    """One entry of `results`."""

    code: str
    outcome: Outcome
    severity: Severity
    subject: Subject
    message: str
    fingerprint: str
    measured: float | int | str | None = None
    unit: str | None = None
    suppressed: dict[str, str | None] | None = None
    evidence: tuple[SavedObservation, ...] = ()

    @property
    def seen_by(self) -> frozenset[str]:
        """What showed it: servers, files, bundles."""
        return frozenset(observation.source for observation in self.evidence)


class SavedRule(msgspec.Struct, frozen=True):
    """One entry of `rules`."""

    code: str
    outcome: Outcome
    reason: str = ""
    subjects: dict[Outcome, int] = {}


class SavedGap(msgspec.Struct, frozen=True):
    """One entry of `gaps`."""

    subject: Subject
    requested: bool = False


class SavedSource(msgspec.Struct, frozen=True):
    """One entry of `sources`."""

    kind: str
    name: str


class SavedReport(msgspec.Struct, frozen=True):
    """A report in a file. `origin` is the file's name."""

    schema: str
    started: datetime
    finished: datetime
    sources: tuple[SavedSource, ...] = ()
    results: tuple[SavedResult, ...] = ()
    rules: tuple[SavedRule, ...] = ()
    gaps: tuple[SavedGap, ...] = ()
    origin: str = ""

    def failures(self) -> dict[str, SavedResult]:
        """The findings that count, by fingerprint."""
        return {
            result.fingerprint: result
            for result in self.results
            if result.outcome is Outcome.FAIL and result.suppressed is None
        }
