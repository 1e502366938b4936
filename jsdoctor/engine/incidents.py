"""From findings to incidents: one cause, and beneath it what follows from it, with the evidence of each link.

The rule pages list which rules may explain which (`explained_by`); this module decides it for the findings at hand.
Every finding is in exactly one incident: as its cause, or as a consequence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from jsdoctor.engine.relations import Relations, accounts_agree, in_words
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Confidence, Finding, Severity
from jsdoctor.model.report import Consequence, Incident, Result
from jsdoctor.model.rule import Explanation, Relation

_AMOUNT = re.compile(r"\d[\d,.a-zµ]*")
"""A number or a whole duration: `1m30s` and `2s` are alike."""

_PLURAL = re.compile(r"# (\w+)s\b")


_WORD = re.compile(r"[^\s,;:()]+")


def likeness(result: Result) -> tuple[object, ...]:
    """A key that is equal for findings of different subjects whose messages differ in names and numbers only.

    Names are those of the subject and of the servers that reported it.
    """
    finding, subject = result.finding, result.finding.subject
    servers = {observation.source for observation in finding.evidence}
    message = _WORD.sub(lambda word: "?" if word[0] in servers else word[0], finding.message)
    for name in sorted({subject.name, subject.stream, subject.account} - {""}, key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "?", message)
    message = _PLURAL.sub(r"# \1", _AMOUNT.sub("#", message))
    return (result.rule.code, result.severity, finding.confidence, subject.kind, message)


_MAX_DISTANCE = timedelta(minutes=15)
"""Findings that logs date further apart than this are not about the same problem."""

_MAX_DISTANCE_IN_TIME_ONLY = timedelta(minutes=5)
"""The same, where time is the only thing that two findings have in common."""

_MAX_AGE = timedelta(hours=1)
"""A problem that logs last showed longer ago than this does not explain a present finding."""


def incidents(results: Sequence[Result], evidence: EvidenceSet, now: datetime) -> tuple[Incident, ...]:
    """The incidents of these failures, worst first. `now`: time of the last sample, for findings without times.

    The order: severity, impact, number of subjects, time of the first sign, rule code, subject.
    """
    relations = Relations(evidence, results)
    index = _Index(results, relations)
    explained: dict[int, Consequence] = {}
    for place, result in enumerate(results):
        consequence = index.explained(result, relations, now)
        if consequence is not None:
            explained[place] = consequence
    places = {id(result): place for place, result in enumerate(results)}
    causes: dict[tuple[object, ...], list[Result]] = {}
    following: dict[tuple[object, ...], list[Consequence]] = {}
    likeness_by_place = {place: likeness(result) for place, result in enumerate(results) if place not in explained}
    for place, result in enumerate(results):
        if place not in explained:
            causes.setdefault(likeness_by_place[place], []).append(result)
            continue
        root = place
        while root in explained:
            root = places[id(explained[root].explained_by)]
        following.setdefault(likeness_by_place[root], []).append(explained[place])
    all_incidents = [
        Incident(tuple(sorted(same_results, key=_order)), _in_order(following.get(likeness, ())))
        for likeness, same_results in causes.items()
    ]
    return tuple(sorted(all_incidents, key=_urgency))


class _Index:
    """The findings that can explain others, by rule, link and key."""

    def __init__(self, results: Sequence[Result], relations: Relations) -> None:
        wanted: dict[str, set[Explanation]] = {}
        for rule in {result.rule.code: result.rule for result in results}.values():
            for edge in rule.explained_by:
                wanted.setdefault(edge.code, set()).add(edge)
        self._found: dict[tuple[object, ...], list[Result]] = {}
        for result in sorted(results, key=_order):
            if result.finding.confidence is Confidence.LOW:
                continue
            for edge in wanted.get(result.rule.code, ()):
                for key in dict.fromkeys(relations.of_cause(result.finding, edge.link)):
                    self._found.setdefault((edge, key), []).append(result)

    def explained(self, result: Result, relations: Relations, now: datetime) -> Consequence | None:
        """The first finding that explains this one, in the order of the rule's page."""
        for edge in result.rule.explained_by:
            for key in relations.of_effect(result.finding, edge.link):
                for cause in self._found.get((edge, key), ()):
                    if _can_explain(result, cause, now, edge.link):
                        words = in_words(edge.link, key, result.finding, cause.finding)
                        return Consequence(result, cause, edge.link, words)
        return None


def _can_explain(result: Result, cause: Result, now: datetime, link: Relation) -> bool:
    """Whether accounts and times of two findings agree. An info never explains a finding that is more severe."""
    if cause.severity is Severity.INFO and result.severity is not Severity.INFO:
        return False
    together = _overlap_in_time_only if link is Relation.MOMENT else _overlap
    return accounts_agree(result.finding.subject, cause.finding.subject) and together(
        result.finding, cause.finding, now
    )


def _overlap_in_time_only(effect: Finding, cause: Finding, now: datetime) -> bool:
    """Whether findings linked by time alone are close. One without times counts as now; two without are not linked."""
    first, second = _span(effect), _span(cause)
    if first is None and second is None:
        return False
    first, second = first or (now, now), second or (now, now)
    return first[0] <= second[1] + _MAX_DISTANCE_IN_TIME_ONLY and second[0] <= first[1] + _MAX_DISTANCE_IN_TIME_ONLY


def _overlap(effect: Finding, cause: Finding, now: datetime) -> bool:
    """Whether the times of two findings are close; one without times is compared with the present."""
    first, second = _span(effect, now), _span(cause, now)
    if first is None and second is None:
        return True
    if first is None or second is None:
        past = first or second
        return past is not None and past[1] >= now - _MAX_AGE
    return first[0] <= second[1] + _MAX_DISTANCE and second[0] <= first[1] + _MAX_DISTANCE


def _span(finding: Finding, now: datetime | None = None) -> tuple[datetime, datetime] | None:
    """When the finding began and ended. One with a beginning only lasts until `now`; without times there is none."""
    ended = finding.last_seen or (now if finding.first_seen else None)
    moments = [moment for moment in (finding.first_seen, ended) if moment is not None]
    return (min(moments), max(moments)) if moments else None


def _in_order(consequences: Iterable[Consequence]) -> tuple[Consequence, ...]:
    return tuple(sorted(consequences, key=lambda consequence: _order(consequence.result)))


def _order(result: Result) -> tuple[object, ...]:
    subject = result.finding.subject
    identity = (subject.account, subject.stream, subject.name, subject.kind, result.finding.message)
    return (result.impact.rank, -result.severity.rank, result.rule.code, *identity)


def _urgency(incident: Incident) -> tuple[object, ...]:
    began = incident.began
    when = began.timestamp() if began else math.inf
    return (
        -incident.severity.rank,
        incident.impact.rank,
        -incident.assets,
        when,
        _order(incident.causes[0]),
    )
