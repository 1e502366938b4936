"""The incidents and the table of findings, as the templates of the HTML report take them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from jsdoctor.model.report import Incident, Report, Result
from jsdoctor.model.wording import listed
from jsdoctor.render.findings import advised, numbers
from jsdoctor.render.incidents import IMPACT_WORDS, blocks, explanation, first_command, incidents_of
from jsdoctor.render.plain import compact
from jsdoctor.render.wording import to_the_second

ROWS_SHOWN = 1500
"""More rows make a page of megabytes; what is left out is counted, and the JSON report has it."""

_CARDS_SHOWN = 200
_NAMES_SHOWN = 3
_EVIDENCE_SHOWN = 8


class Effect(msgspec.Struct, frozen=True):
    """Findings of one rule that follow from an incident's cause."""

    code: str
    title: str
    severity: str
    subjects: str
    explanation: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One incident: what is wrong, since when, what to do first, and what follows from it."""

    number: int
    severity: str
    impact: str
    code: str
    title: str
    subjects: str
    message: str
    command: str
    began: str
    effects: tuple[Effect, ...]


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. `key` orders by severity, `incident` is the number of its incident."""

    key: int
    incident: int
    severity: str
    code: str
    slug: str
    kind: str
    subject: str
    message: str
    numbers: str
    when: str
    explanation: str
    fingerprint: str
    evidence: tuple[tuple[str, str, str, str], ...]
    more_evidence: int
    commands: tuple[tuple[str, str], ...]


def incident_cards(report: Report) -> tuple[Card, ...]:
    """The incidents, worst first."""
    return tuple(_card(number, incident) for number, incident in enumerate(incidents_of(report)[:_CARDS_SHOWN], 1))


def rows(report: Report) -> list[FindingRow]:
    """The findings in the order of the incidents."""
    made: list[FindingRow] = []
    for number, incident in enumerate(incidents_of(report), 1):
        why = {id(consequence.result): explanation(consequence) for consequence in incident.consequences}
        for result in incident.results:
            if len(made) == ROWS_SHOWN:
                return made
            made.append(_row(number, result, why.get(id(result), "")))
    return made


def _card(number: int, incident: Incident) -> Card:
    cause = incident.causes[0]
    return Card(
        number=number,
        severity=incident.severity.value,
        impact=IMPACT_WORDS[incident.impact],
        code=cause.rule.code,
        title=cause.rule.slug.replace("-", " "),
        subjects=listed((result.finding.subject.label for result in incident.causes), _NAMES_SHOWN),
        message=cause.finding.message or cause.rule.title,
        command=first_command(incident),
        began=_shown(incident.began),
        effects=tuple(_effects(incident)),
    )


def _effects(incident: Incident) -> Iterator[Effect]:
    for block in list(blocks(incident))[1:]:
        first = block.results[0]
        names = listed((result.finding.subject.label for result in block.results), _NAMES_SHOWN)
        yield Effect(first.rule.code, first.rule.slug.replace("-", " "), first.severity.value, names, block.explanation)


def _row(number: int, result: Result, why: str) -> FindingRow:
    finding, rule = result.finding, result.rule
    first, last = _shown(finding.first_seen), _shown(finding.last_seen)
    return FindingRow(
        key=result.severity.rank,
        incident=number,
        severity=result.severity.value,
        code=rule.code,
        slug=rule.slug.replace("-", " "),
        kind=finding.subject.kind,
        subject=finding.subject.label,
        message=finding.message or rule.title,
        numbers=numbers(finding),
        when=first if first == last or not last else f"{first or '?'} to {last}",
        explanation=why,
        fingerprint=result.fingerprint,
        evidence=tuple(
            (observation.source, observation.path, compact(observation.value), _shown(observation.at))
            for observation in finding.evidence[:_EVIDENCE_SHOWN]
        ),
        more_evidence=max(0, len(finding.evidence) - _EVIDENCE_SHOWN),
        commands=tuple(advised(result)),
    )


def _shown(moment: datetime | None) -> str:
    return to_the_second(moment) if moment else ""
