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
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@check("logs.declared_lines_logged")
def declared_lines_logged(logs: LogEvidence, rule: Rule, params: Params) -> Iterator[Finding]:
    """One finding for each subject: by the first entry of the page's `lines` whose signatures were logged."""
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
    """The text of the page with its placeholders filled in one pass, so that logged text is never taken for one."""
    return _PLACEHOLDER.sub(
        lambda place: burst.story if place[1] == "story" else _values(burst, place[1]) or "not named", declared.says
    )


def _values(burst: Burst, field: str) -> str:
    """The values of a field in all lines, if lines are counted by it; else those in the example lines."""
    lines = (line for occurrence in burst.found for line in occurrence.exemplars)
    return burst.values(field) or listed(value for line in lines if (value := dict(line.fields).get(field)))


def _severity(declared: LineFinding, burst: Burst, params: Params) -> Severity | None:
    few = declared.at_least and burst.most < params.integer(declared.at_least)
    return Severity.INFO if few else declared.severity


def _origin(rule: Rule) -> Literal["servers", "clients", "any"]:
    """Whose lines the page's signatures match."""
    sources = {signature.source for signature in rule.signatures}
    if sources == {LineOrigin.SERVER}:
        return "servers"
    return "clients" if sources == {LineOrigin.CLIENT} else "any"
