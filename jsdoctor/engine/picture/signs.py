"""The rule that a log signature belongs to, and how severe its problem is in this run."""

from __future__ import annotations

from jsdoctor.model.finding import Severity
from jsdoctor.model.log_line import Exemplar
from jsdoctor.model.picture import Line
from jsdoctor.model.report import Report

_LINES_KEPT = 3
_TEXT_KEPT = 400


class Signs:
    """Signatures by name. A signature has a severity where its rule found something."""

    def __init__(self, report: Report) -> None:
        worst: dict[str, Severity] = {}
        for result in report.failures():
            known = worst.get(result.rule.code, result.severity)
            worst[result.rule.code] = max(known, result.severity, key=lambda severity: severity.rank)
        self._worst = worst
        self._codes = {sign.name: verdict.rule.code for verdict in report.verdicts for sign in verdict.rule.signatures}

    def code(self, signature: str) -> str:
        """The rule of that signature; empty where that rule was not selected."""
        return self._codes.get(signature, "")

    def severity(self, signature: str) -> Severity | None:
        """The worst finding of its rule, or None."""
        return self._worst.get(self.code(signature))


def words(signature: str) -> str:
    """A signature's name as words; one that belongs to no rule begins with `@`."""
    return signature.removeprefix("@").replace("-", " ")


def lines(exemplars: tuple[Exemplar, ...]) -> tuple[Line, ...]:
    """The first lines, cut."""
    return tuple(
        Line(exemplar.file, exemplar.line, exemplar.offset, exemplar.text[:_TEXT_KEPT])
        for exemplar in exemplars[:_LINES_KEPT]
    )
