"""The report: what a run found, what it could not see, and what it looked at (`jsdoctor.report/v1`)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.finding import Finding, Offer, Outcome, Severity, fingerprint
from jsdoctor.model.gap import Gap
from jsdoctor.model.rule import Rule
from jsdoctor.model.suppression import EXISTING, Suppression

SCHEMA = "jsdoctor.report/v1"


class Source(msgspec.Struct, frozen=True):
    """Where evidence came from. `kind` is live, bundle, logs, pcap, manifest or ntp."""

    kind: str
    name: str
    collected_at: datetime


class Result(msgspec.Struct, frozen=True):
    """One finding under its rule, with the remedy offered for it, and why it does not count if it does not."""

    rule: Rule
    finding: Finding
    remedy: Offer | None = None
    suppressed: Suppression | None = None

    @property
    def severity(self) -> Severity:
        """The finding's severity, else the rule's."""
        return self.finding.severity or self.rule.severity

    @property
    def existing(self) -> bool:
        """Whether it was there before the change that is judged."""
        return self.suppressed is not None and self.suppressed.kind == EXISTING

    @property
    def fingerprint(self) -> str:
        """Identity of this finding over time."""
        return fingerprint(self.rule.code, self.finding.subject)


class RuleVerdict(msgspec.Struct, frozen=True):
    """What became of one rule: its worst outcome, how many subjects ended in each, and why if it was not evaluated.

    `selected_by_name` is True when the user named this rule's code or slug itself: then missing evidence is a gap.
    """

    rule: Rule
    outcome: Outcome
    subjects: dict[Outcome, int] = {}
    reason: str = ""
    how_to_get: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run. `results` holds fails, errors and the undecided; passes only when asked for."""

    version: str
    started: datetime
    finished: datetime
    sources: tuple[Source, ...]
    verdicts: tuple[RuleVerdict, ...]
    results: tuple[Result, ...]
    gaps: tuple[Gap, ...]
    headline: str = ""

    def failures(self) -> tuple[Result, ...]:
        """Findings that count: failed and not suppressed."""
        return tuple(r for r in self.results if r.finding.outcome is Outcome.FAIL and r.suppressed is None)

    def suppressed(self) -> tuple[Result, ...]:
        """Findings that do not count: waived, accepted, or there before a change."""
        return tuple(result for result in self.results if result.suppressed is not None)
