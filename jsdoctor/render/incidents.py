"""The incidents of a report: their order, one line for each, and what every finding is explained by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

import msgspec

from jsdoctor.model.finding import Impact, Severity
from jsdoctor.model.report import Consequence, Incident, Report, Result
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.order import in_blocks
from jsdoctor.render.wording import subjects

_NAMES_SHOWN = 2

IMPACT_WORDS = {
    Impact.DATA_LOST: "data lost",
    Impact.PUBLISHERS_REFUSED: "publishers refused",
    Impact.CONSUMERS_NOT_SERVED: "consumers not served",
    Impact.REDUNDANCY_LOST: "redundancy lost",
    Impact.RISK: "risk",
    Impact.HYGIENE: "hygiene",
}


class FindingGroup(msgspec.Struct, frozen=True):
    """Findings of one rule in one incident, and their severity: of the cause, that of the whole incident.

    `explanation` is empty for the cause.
    """

    results: tuple[Result, ...]
    severity: Severity
    explanation: str = ""


class Membership(msgspec.Struct, frozen=True):
    """The incident of a finding and its number, from 1. `consequence` is None for a cause."""

    number: int
    incident: Incident
    consequence: Consequence | None = None

    @property
    def explanation(self) -> str:
        """What explains the finding, empty for a cause."""
        return explanation(self.consequence) if self.consequence else ""


def incidents_of(report: Report) -> tuple[Incident, ...]:
    """The incidents of a report. Findings that are in none, in a report made by hand, stand for themselves."""
    grouped = {id(result) for incident in report.incidents for result in incident.results}
    rest = [result for result in report.failures() if id(result) not in grouped]
    return (*report.incidents, *(Incident(tuple(block)) for block in in_blocks(rest)))


def blocks(incident: Incident) -> Iterator[FindingGroup]:
    """The causes as one group, then groups of consecutive consequences of one rule and severity."""
    yield FindingGroup(incident.causes, incident.severity)

    def kind(consequence: Consequence) -> tuple[str, str]:
        return consequence.result.rule.code, consequence.result.severity.value

    for _, consequences_of_kind in groupby(incident.consequences, key=kind):
        consequences = list(consequences_of_kind)
        reasons = dict.fromkeys(explanation(consequence) for consequence in consequences)
        results = tuple(consequence.result for consequence in consequences)
        yield FindingGroup(results, results[0].severity, listed(reasons, _NAMES_SHOWN))


def explanation(consequence: Consequence) -> str:
    """`JSD703 n3: n3 holds it`."""
    return (
        f"{consequence.explained_by.rule.code} {consequence.explained_by.finding.subject.label}: {consequence.evidence}"
    )


def memberships(report: Report) -> dict[int, Membership]:
    """The membership of each finding in its incident, by the `id()` of the result."""
    memberships_by_result: dict[int, Membership] = {}
    for number, incident in enumerate(incidents_of(report), 1):
        memberships_by_result |= {id(result): Membership(number, incident) for result in incident.causes}
        memberships_by_result |= {
            id(consequence.result): Membership(number, incident, consequence) for consequence in incident.consequences
        }
    return memberships_by_result


def in_incident_order(report: Report) -> Iterator[FindingGroup]:
    """All findings that count, incident by incident, the cause before its consequences."""
    for incident in incidents_of(report):
        yield from blocks(incident)


def groups_without(report: Report, left_out: Iterable[Result]) -> Iterator[FindingGroup]:
    """The groups in incident order, without the results `left_out`, which the format lists elsewhere."""
    left_out_ids = {id(result) for result in left_out}
    for block in in_incident_order(report):
        kept = tuple(result for result in block.results if id(result) not in left_out_ids)
        if kept:
            yield FindingGroup(kept, block.severity, block.explanation)


def summary(incident: Incident) -> str:
    """`JSD703 n3 (12 consequences): n3 has not been heard for 31 s …`."""
    cause = incident.causes[0]
    names = listed((result.finding.subject.label for result in incident.causes), _NAMES_SHOWN)
    following = len(incident.consequences)
    more = f" ({counted(following, 'consequence')})" if following else ""
    return f"{cause.rule.code} {names}{more}: {cause.finding.message or cause.rule.title}"


def names_of(results: Sequence[Result], shown: int = 0) -> str:
    """`APP > ORDERS > billing`, or for several `7 consumers of APP > ORDERS (a, b, c and 4 more)`.
    `shown` is the number of names in brackets; 0: none.
    """
    if len(results) == 1:
        return results[0].finding.subject.label
    labels = [result.finding.subject.label.split(" > ") for result in results]
    shared = [*takewhile(lambda same: len(set(same)) == 1, zip(*(label[:-1] for label in labels), strict=False))]
    parent = f" of {' > '.join(same[0] for same in shared)}" if shared else ""
    names = f" ({listed((' > '.join(label[len(shared) :]) for label in labels), shown)})" if shown else ""
    return f"{subjects([result.finding.subject for result in results])}{parent}{names}"


def first_command(incident: Incident) -> str:
    """The first command of the cause's remedy, else the advice, else the page of its rule."""
    cause = incident.causes[0]
    commands = cause.remedy.commands if cause.remedy else ()
    return next(filter(None, (*commands, cause.finding.advice)), f"jsdoctor explain {cause.rule.code}")
