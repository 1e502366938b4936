"""The table of findings, as the templates of the HTML report take it."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from jsdoctor.model.report import Report, Result
from jsdoctor.render.findings import numbers, offered
from jsdoctor.render.incidents import IMPACT_WORDS, explanation, incidents_of
from jsdoctor.render.plain import compact
from jsdoctor.render.wording import on_the_day, to_the_second

ROWS_SHOWN = 1500
"""More rows make a page of megabytes; what is left out is counted, and the JSON report has it."""

_UNFOLDED_PER_INCIDENT = 3
"""Findings of one incident that are shown before the rest is hidden."""
_EVIDENCE_SHOWN = 8


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. `key` orders by severity, `incident` is the number of its incident.

    `advice` is what to do first, `first` the first command of a cause, `commands` are the others. `fold`: it is hidden
    until the reader opens its incident, and the row with `more` counts those.
    """

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
    since: str
    impact: str
    advice: str
    first: tuple[tuple[str, str], ...]
    fold: bool
    more: int
    explanation: str
    evidence: tuple[tuple[str, str, str, str], ...]
    more_evidence: int
    commands: tuple[tuple[str, str], ...]


def rows(report: Report) -> list[FindingRow]:
    """The findings in the order of the incidents."""
    finding_rows: list[FindingRow] = []
    for number, incident in enumerate(incidents_of(report), 1):
        explanations = {id(consequence.result): explanation(consequence) for consequence in incident.consequences}
        for place, result in enumerate(incident.results, 1):
            if len(finding_rows) == ROWS_SHOWN:
                return finding_rows
            more = len(incident.results) - place if place == _UNFOLDED_PER_INCIDENT else 0
            row = replace(
                _row(number, result, explanations.get(id(result), "")), more=more, fold=place > _UNFOLDED_PER_INCIDENT
            )
            if not row.explanation:
                row = replace(row, key=incident.severity.rank, severity=incident.severity.value)
            if place == 1:
                impact = IMPACT_WORDS[incident.impact]
                row = replace(row, impact=impact, first=row.commands[:1], commands=row.commands[1:])
            if result.finding.first_seen:
                row = replace(row, since=on_the_day(result.finding.first_seen, report.started))
            finding_rows.append(row)
    return finding_rows


def _row(number: int, result: Result, explanations: str) -> FindingRow:
    finding, rule = result.finding, result.rule
    first, last = _second_text(finding.first_seen), _second_text(finding.last_seen)
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
        since="",
        impact="",
        advice=finding.advice,
        first=(),
        fold=False,
        more=0,
        when=f"{first or '?'} to {last}" if last and last != first else "",
        explanation=explanations,
        evidence=tuple(
            (observation.source, observation.path, compact(observation.value), _second_text(observation.at))
            for observation in finding.evidence[:_EVIDENCE_SHOWN]
        ),
        more_evidence=max(0, len(finding.evidence) - _EVIDENCE_SHOWN),
        commands=tuple(offered(result.remedy)),
    )


def _second_text(moment: datetime | None) -> str:
    return to_the_second(moment) if moment else ""
