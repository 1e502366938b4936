"""JSD902: a waiver that has expired, or that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.suppression import Suppressions, Waiver, WaiverUse
from jsdoctor.model.wording import counted


@check("collection.suppression_stale")
def suppression_stale(suppressions: Suppressions) -> Iterator[Finding]:
    """Report waivers that have expired, and those that cover no finding, as they would hide later ones."""
    for use in suppressions.uses:
        subject = _subject(use.waiver)
        if use.expired:
            yield _finding(use, Severity.WARNING, _since(use))
        elif use.matched:
            yield passed(subject)
        elif use.judged:
            yield _finding(use, Severity.INFO, "it waives nothing that was found: remove it, or fix its pattern")
        else:
            yield unknown(
                subject,
                f"whether {use.waiver.rule} still needs it was not judged in this run",
                "run with the evidence that its rules want",
            )


def _since(use: WaiverUse) -> str:
    again = f"{counted(use.matched, 'finding')} that it waived count again" if use.matched else "nothing needs it"
    return f"it expired on {use.waiver.expires}: {again}; its reason was: {use.waiver.reason}"


def _finding(use: WaiverUse, severity: Severity, message: str) -> Finding:
    waiver = use.waiver
    return failed(
        _subject(waiver),
        message,
        Observation(waiver.origin, f"line {waiver.line}", f"{waiver.rule} on {waiver.subject}"),
        severity=severity,
        measured=(use.matched, None, "count"),
    )


def _subject(waiver: Waiver) -> Subject:
    """The subject of a waiver: its rule and pattern, not its line, which moves with edits above it."""
    return Subject(kind="file", name=f"{waiver.origin}: {waiver.rule} on {waiver.subject}")
