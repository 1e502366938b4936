"""`jsdoctor preflight`, end to end: collect, judge, write, exit code."""

from __future__ import annotations

from jsdoctor.app.preflight import PreflightRequest, run_preflight
from jsdoctor.app.request import JudgeRequest
from jsdoctor.cli.check_run import run_check
from jsdoctor.cli.console import MESSAGES
from jsdoctor.cli.output import write_results
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.model.preflight import GoNoGo
from jsdoctor.model.problems import UsageProblem
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.render.formats import ReportFormat
from jsdoctor.render.preflight import render_preflight, render_preflight_markdown
from jsdoctor.render.preflight_json import render_preflight_json

_RENDERERS = {"text": render_preflight, "json": render_preflight_json, "markdown": render_preflight_markdown}
_CODES = {GoNoGo.GO: ExitCode.OK, GoNoGo.NO_GO: ExitCode.FINDINGS, GoNoGo.UNKNOWN: ExitCode.INCONCLUSIVE}


def run(request: PreflightRequest) -> ExitCode:
    """Judge, and write the result. Raises the problems that `cli.errors` can say."""
    report = scrubbed(run_preflight(request, MESSAGES))
    write_results(request, _RENDERERS, report)
    return _CODES[report.verdict]


def run_manifests(request: PreflightRequest) -> ExitCode | NagiosState:
    """The gate of a deploy, which `jsdoctor check --manifest` is, with the exit codes of a check."""
    if request.without or request.each or request.target or request.wait_s or request.accepted:
        raise UsageProblem(
            "--manifest is about what is to be deployed", "judge a stop or a release in a run of its own"
        )
    judge = JudgeRequest(
        output=request.output,
        format=ReportFormat(request.format.value) if request.format else None,
        quiet=request.quiet,
        verbose=request.verbose,
        color=request.color,
        **vars(request.configuration),
    )
    return run_check(judge, request.wanted)
