"""`jsdoctor check` and `jsdoctor audit`, end to end: rules, collection, evaluation, report, exit code."""

from __future__ import annotations

from jsdoctor.app.collecting import collect
from jsdoctor.app.judging import open_judging
from jsdoctor.app.request import JudgeRequest
from jsdoctor.cli.console import MESSAGES, say
from jsdoctor.cli.report_output import write_report
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.sources.request import EvidenceRequest


def run_check(judge: JudgeRequest, wanted: EvidenceRequest) -> ExitCode | NagiosState:
    """Check a deployment, what lies beside it, or both. Raises the problems that `cli.errors` can say."""
    collected = collect(wanted, open_judging(judge), MESSAGES)
    report = collected.report()
    if collected.problem is not None and collected.saw_nothing:
        say(collected.problem.message, collected.problem.hint)
    # A failed connection gives people one error message, not an empty report; machine formats always get their
    # document.
    write_report(collected.judging, report, without_text=collected.problem is not None and collected.saw_nothing)
    return collected.judging.exit_code(report)
