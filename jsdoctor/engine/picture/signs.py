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
            known = worst.get(result.rule.code)
            if known is None or result.severity.rank > known.rank:
                worst[result.rule.code] = result.severity
        self._of: dict[str, tuple[str, Severity | None]] = {}
        for verdict in report.verdicts:
            for signature in verdict.rule.signatures:
                self._of[signature.name] = (verdict.rule.code, worst.get(verdict.rule.code))

    def code(self, signature: str) -> str:
        """The rule of that signature; empty where that rule was not selected."""
        return self._of.get(signature, ("", None))[0]

    def severity(self, signature: str) -> Severity | None:
        """The worst finding of its rule, or None."""
        return self._of.get(signature, ("", None))[1]


def words(signature: str) -> str:
    """A signature's name as words; one that belongs to no rule begins with `@`."""
    return signature.removeprefix("@").replace("-", " ")


def lines(exemplars: tuple[Exemplar, ...]) -> tuple[Line, ...]:
    """The first lines, cut."""
    return tuple(
        Line(exemplar.file, exemplar.line, exemplar.offset, exemplar.text[:_TEXT_KEPT])
        for exemplar in exemplars[:_LINES_KEPT]
    )
