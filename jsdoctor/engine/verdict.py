"""The exit code of a report: computed once, the same for every format."""

from __future__ import annotations

from enum import IntEnum

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Report


class ExitCode(IntEnum):
    """What the process returns; the only place with these numbers."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INTERNAL = 4
    INTERRUPTED = 130


def exit_code(report: Report, fail_on: Severity, exit_zero: bool = False, allow_gaps: bool = False) -> ExitCode:
    """A crashed check outranks findings, findings outrank gaps. `exit_zero` forgives findings, `allow_gaps` gaps."""
    if any(verdict.subjects.get(Outcome.ERROR) for verdict in report.verdicts):
        return ExitCode.INTERNAL
    if not exit_zero and any(result.severity.rank >= fail_on.rank for result in report.failures()):
        return ExitCode.FINDINGS
    if not allow_gaps and any(gap.requested for gap in report.gaps):
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK
