"""The report: findings, gaps and sources of a run (`jsdoctor.report/v1`)."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from jsdoctor.model.change import ManifestChange
from jsdoctor.model.finding import Confidence, Finding, Impact, Offer, Outcome, Severity, Subject, fingerprint
from jsdoctor.model.gap import Gap
from jsdoctor.model.picture import Picture
from jsdoctor.model.rule import Relation, Rule
from jsdoctor.model.suppression import EXISTING, Suppression
from jsdoctor.model.topology import Topology
from jsdoctor.model.traffic_summary import TrafficSummary

SCHEMA = "jsdoctor.report/v1"


SOURCE_KINDS = (*("live", "bundle", "logs", "loki", "prometheus", "kubernetes"), *("pcap", "manifest", "ntp", "pasted"))
"""Where evidence may come from."""


class EvidenceOrigin(msgspec.Struct, frozen=True):
    """Where evidence came from. `kind` is one of `SOURCE_KINDS`."""

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
    def code(self) -> str:
        """The code of the rule."""
        return self.rule.code

    @property
    def message(self) -> str:
        """What was found, in a sentence."""
        return self.finding.message

    @property
    def subject(self) -> Subject:
        """The subject of the finding."""
        return self.finding.subject

    def __repr__(self) -> str:
        return f"{self.code} {self.severity.value} {self.subject.label}: {self.message}"

    @property
    def existing(self) -> bool:
        """Whether it was there before the change that is judged."""
        return self.suppressed is not None and self.suppressed.kind == EXISTING

    @property
    def impact(self) -> Impact:
        """The finding's impact, else the rule's. Low confidence: a risk at most. Severity info: always hygiene."""
        if self.severity is Severity.INFO:
            return Impact.HYGIENE
        impact = self.finding.impact or self.rule.impact or Impact.RISK
        if self.finding.confidence is Confidence.LOW:
            return max(impact, Impact.RISK, key=lambda item: item.rank)
        return impact

    @property
    def fingerprint(self) -> str:
        """Identity of this finding over time."""
        return fingerprint(self.rule.code, self.finding.subject)


def _in_utc(moment: datetime) -> datetime:
    """A moment without a zone is taken as UTC, as reports do."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Consequence(msgspec.Struct, frozen=True):
    """A finding that another one explains. `link` names their relation, `evidence` describes it."""

    result: Result
    explained_by: Result
    link: Relation
    evidence: str


class Incident(msgspec.Struct, frozen=True):
    """One cause and what follows from it. `causes` has several results where they are alike but for the subject."""

    causes: tuple[Result, ...]
    consequences: tuple[Consequence, ...] = ()

    @property
    def results(self) -> tuple[Result, ...]:
        """All findings of this incident, causes first."""
        return (*self.causes, *(consequence.result for consequence in self.consequences))

    @property
    def severity(self) -> Severity:
        """The worst severity of its findings."""
        return max((result.severity for result in self.results), key=lambda severity: severity.rank)

    @property
    def impact(self) -> Impact:
        """The worst impact of its findings."""
        return min((result.impact for result in self.results), key=lambda impact: impact.rank)

    @property
    def assets(self) -> int:
        """How many different subjects it is about."""
        return len({result.finding.subject for result in self.results})

    @property
    def began(self) -> datetime | None:
        """When the first of its findings was seen first, as far as evidence has times."""
        moments = (result.finding.first_seen for result in self.results if result.finding.first_seen)
        return min(moments, key=_in_utc, default=None)


class RuleVerdict(msgspec.Struct, frozen=True):
    """The outcome of one rule: the worst, how many subjects ended in each, and the reason if it was not evaluated.

    `subjects` has a count for each outcome that occurred. `reason` and `how_to_get` are empty if the rule was
    evaluated. `in_part`: some of what it needs was not read, so that there may be more than it found.
    """

    rule: Rule
    outcome: Outcome
    subjects: dict[Outcome, int] = {}
    reason: str = ""
    how_to_get: str = ""
    in_part: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run. `results` holds fails, errors and undecided results; passes only if requested.

    `incidents` groups the findings that count, each in exactly one incident, the worst impact first. `topology` is the
    deployment that was sampled; None if no evidence shows it. `change` is the difference between manifests and the
    deployment; None without either. `picture` is set if an output format that draws requested it.
    """

    version: str
    started: datetime
    finished: datetime
    sources: tuple[EvidenceOrigin, ...]
    verdicts: tuple[RuleVerdict, ...]
    results: tuple[Result, ...]
    gaps: tuple[Gap, ...]
    headline: str = ""
    traffic: tuple[TrafficSummary, ...] = ()
    incidents: tuple[Incident, ...] = ()
    topology: Topology | None = None
    picture: Picture | None = None
    change: ManifestChange | None = None

    def failures(self) -> tuple[Result, ...]:
        """Findings that count: failed and not suppressed."""
        return tuple(r for r in self.results if r.finding.outcome is Outcome.FAIL and r.suppressed is None)

    def suppressed(self) -> tuple[Result, ...]:
        """Findings that do not count: waived, accepted, or there before a change."""
        return tuple(result for result in self.results if result.suppressed is not None)
