"""`jsdoctor audit`, end to end: logs, rules that logs can tell of, report, exit code."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from jsdoctor.cli.console import progress
from jsdoctor.cli.judging import JudgeRequest, Judging, open_judging
from jsdoctor.cli.log_options import LogRequest
from jsdoctor.cli.log_reading import read_logs
from jsdoctor.engine.select import Selection
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.model.evidence import KINDS, EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.log import LogEvidence

_LOGS_ONLY = Gap(
    kind="access",
    subject=CLUSTER,
    reason="only logs were read",
    how_to_get="jsdoctor check looks at a deployment, and at logs beside it with --logs",
    requested=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest(JudgeRequest):
    """What the command line asked for."""

    logs: LogRequest


def run_audit(request: AuditRequest) -> ExitCode | NagiosState:
    """Read logs, with Spark unless told otherwise, and write the report. Raises what `cli.errors` can say."""
    return judge_logs(open_judging(request), request.logs)


def judge_logs(judging: Judging, asked: LogRequest) -> ExitCode | NagiosState:
    """Read logs and nothing else, and write the report."""
    judging = replace(judging, selection=_told_by_logs(judging))
    with progress(judging.request.quiet) as show:
        logs = read_logs(asked, judging.rulebook.rules, show)
    nothing = EvidenceSet({Gaps: Gaps(())}, {kind: _LOGS_ONLY for kind in KINDS if kind is not Gaps})
    report = judging.report(nothing.joined(logs.evidence, logs.gaps), logs.sources, logs.headline)
    judging.write(report)
    return judging.exit_code(report)


def _told_by_logs(judging: Judging) -> Selection:
    """The selected rules of which logs, or what could not be read of them, can tell; and those asked for by name."""
    checks = judging.rulebook.checks
    selection = judging.selection
    kept = tuple(
        rule
        for rule in selection.rules
        if rule.code in selection.named
        or any(kind in (LogEvidence, Gaps) for name in rule.checks for kind in checks[name].kinds)
    )
    return msgspec.structs.replace(selection, rules=kept)
