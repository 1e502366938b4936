"""Findings that rule pages declare for their log lines: a rule of logs without a line of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import by_server, client_of, listed, subject_of
from jsdoctor.checks.registry import LINES_OF, check
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.rule import LineFinding, LineOrigin, LineSubject, Rule

_SUBJECTS = {LineSubject.ASSET: subject_of, LineSubject.SERVER: by_server, LineSubject.CLIENT: client_of}
_PLACE = re.compile(r"\{(\w+)\}")


@check("logs.declared_lines_logged")
def declared_lines_logged(logs: LogEvidence, rule: Rule, params: Params) -> Iterator[Finding]:
    """For each subject, the first of the page's `lines` of which something was logged."""
    judged: set[Subject] = set()
    for declared in rule.lines:
        found = bursts(logs, *declared.signatures, subjects=_SUBJECTS[declared.subject], calm=not declared.starts)
        for burst in found:
            if burst.subject not in judged:
                judged.add(burst.subject)
                yield finding_of(burst, _message(declared, burst), _severity(declared, burst, params))
    if not judged:
        yield LINES_OF[_origin(rule)](logs)


def _message(declared: LineFinding, burst: Burst) -> str:
    """The text of the page with the values of the lines, in one pass: what was logged is never read as a place."""
    return _PLACE.sub(
        lambda place: burst.story if place[1] == "story" else _values(burst, place[1]) or "not named", declared.says
    )


def _values(burst: Burst, field: str) -> str:
    """Those of all lines, if lines are counted apart by the field; else those of the lines that are shown."""
    lines = (line for occurrence in burst.found for line in occurrence.exemplars)
    return burst.values(field) or listed(value for line in lines if (value := dict(line.fields).get(field)))


def _severity(declared: LineFinding, burst: Burst, params: Params) -> Severity | None:
    few = declared.at_least and burst.most < params.integer(declared.at_least)
    return Severity.INFO if few else declared.severity


def _origin(rule: Rule) -> Literal["servers", "clients", "any"]:
    """Whose lines would show it, by the page's signatures."""
    sources = {signature.source for signature in rule.signatures}
    if sources == {LineOrigin.SERVER}:
        return "servers"
    return "clients" if sources == {LineOrigin.CLIENT} else "any"
