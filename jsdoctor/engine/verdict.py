"""The exit code of a report: computed once, the same for every format but that of Nagios plugins."""

from __future__ import annotations

from enum import IntEnum

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Report

_GIVEN_SOURCES = frozenset({"pasted", "logs", "loki", "pcap"})


class ExitCode(IntEnum):
    """What the process returns; the only place with these numbers."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INTERNAL = 4
    INTERRUPTED = 130


class NagiosState(IntEnum):
    """What a plugin returns (Monitoring Plugins Development Guidelines, table 3)."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


def exit_code(report: Report, fail_on: Severity, exit_zero: bool = False, allow_gaps: bool = False) -> ExitCode:
    """A crashed check outranks findings; findings outrank gaps and what no rule explains.

    `exit_zero` ignores findings, `allow_gaps` ignores gaps. Either ignores what no rule explains, and what was seen but
    could not be judged in evidence that the user gave (a paste, logs, a capture).
    """
    if any(verdict.subjects.get(Outcome.ERROR) for verdict in report.verdicts):
        return ExitCode.INTERNAL
    if not exit_zero and any(result.severity.rank >= fail_on.rank for result in report.failures()):
        return ExitCode.FINDINGS
    kinds = {source.kind for source in report.sources}
    given = bool(kinds) and kinds <= _GIVEN_SOURCES
    unexplained = not exit_zero and any(
        result.finding.unexplained or (given and result.finding.seen)
        for result in report.results
        if result.suppressed is None
    )
    if not allow_gaps and (unexplained or any(gap.requested for gap in report.gaps)):
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK


def nagios_state(
    report: Report, fail_on: Severity, exit_zero: bool = False, allow_gaps: bool = False, about_gaps: str = "JSD901"
) -> NagiosState:
    """CRITICAL if findings fail the run, UNKNOWN if checks crashed or evidence is missing, WARNING for the rest.

    A crashed check hides no finding here: an alert for CRITICAL must fire, and UNKNOWN fires none. Findings of the rule
    `about_gaps` only report that evidence is missing: with `allow_gaps` they are no warning.
    """
    if not exit_zero and any(result.severity.rank >= fail_on.rank for result in report.failures()):
        return NagiosState.CRITICAL
    if exit_code(report, fail_on, True, allow_gaps) is not ExitCode.OK:
        return NagiosState.UNKNOWN
    milder = (result for result in report.failures() if not (allow_gaps and result.rule.code == about_gaps))
    if not exit_zero and any(result.severity.rank >= Severity.WARNING.rank for result in milder):
        return NagiosState.WARNING
    return NagiosState.OK
