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

_NUMBER = re.compile(r"\d[\d,.a-zµ]*")
"""Also a whole length of time: `1m30s` and `2s` are alike."""

_PLURAL = re.compile(r"# (\w+)s\b")


_WORD = re.compile(r"[^\s,;:()]+")


def likeness(result: Result) -> tuple[object, ...]:
    """Equal for findings that say the same of different subjects: but for names and numbers, the same message.

    The names are those of the subject and of the servers that showed it: where each stream lies is no difference.
    """
    finding, subject = result.finding, result.finding.subject
    servers = {observation.source for observation in finding.evidence}
    message = _WORD.sub(lambda word: "?" if word[0] in servers else word[0], finding.message)
    for name in sorted({subject.name, subject.stream, subject.account} - {""}, key=len, reverse=True):
        message = message.replace(name, "?")
    message = _PLURAL.sub(r"# \1", _NUMBER.sub("#", message))
    return (result.rule.code, result.severity, finding.confidence, subject.kind, message)


_APART = timedelta(minutes=15)
"""Findings that logs date further apart than this are not about the same problem."""

_SAME_MOMENT = timedelta(minutes=5)
"""The same, where the time is all that two findings have in common."""

_STILL = timedelta(hours=1)
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
    alike = {place: likeness(result) for place, result in enumerate(results) if place not in explained}
    for place, result in enumerate(results):
        if place not in explained:
            causes.setdefault(alike[place], []).append(result)
            continue
        root = place
        while root in explained:
            root = places[id(explained[root].explained_by)]
        following.setdefault(alike[root], []).append(explained[place])
    all_incidents = [
        Incident(tuple(sorted(alike_ones, key=_order)), _in_order(following.get(likeness, ())))
        for likeness, alike_ones in causes.items()
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
                    if _fits(result, cause, now, edge.link):
                        words = in_words(edge.link, key, result.finding, cause.finding)
                        return Consequence(result, cause, edge.link, words)
        return None


def _fits(result: Result, cause: Result, now: datetime, link: Relation) -> bool:
    """Whether accounts and times agree. An info never explains a finding that is more severe."""
    if cause.severity is Severity.INFO and result.severity is not Severity.INFO:
        return False
    together = _at_once if link is Relation.MOMENT else _together
    return accounts_agree(result.finding.subject, cause.finding.subject) and together(
        result.finding, cause.finding, now
    )


def _at_once(effect: Finding, cause: Finding, now: datetime) -> bool:
    """A finding without times is of now; two of those have nothing in common."""
    first, second = _span(effect), _span(cause)
    if first is None and second is None:
        return False
    first, second = first or (now, now), second or (now, now)
    return first[0] <= second[1] + _SAME_MOMENT and second[0] <= first[1] + _SAME_MOMENT


def _together(effect: Finding, cause: Finding, now: datetime) -> bool:
    first, second = _span(effect, now), _span(cause, now)
    if first is None and second is None:
        return True
    if first is None or second is None:
        past = first or second
        return past is not None and past[1] >= now - _STILL
    return first[0] <= second[1] + _APART and second[0] <= first[1] + _APART


def _span(finding: Finding, now: datetime | None = None) -> tuple[datetime, datetime] | None:
    """From when to when it was so; what began and was not seen last goes on until `now`."""
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
