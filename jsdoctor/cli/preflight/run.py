"""`jsdoctor preflight`, end to end: collect, judge, write, exit code."""

from __future__ import annotations

from jsdoctor.app.preflight import PreflightRequest, run_preflight
from jsdoctor.cli.console import MESSAGES
from jsdoctor.cli.output import options_for, write_output
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.preflight import GoNoGo
from jsdoctor.parse.scrubbed import scrubbed
from jsdoctor.render.preflight import render_preflight, render_preflight_markdown
from jsdoctor.render.preflight_json import render_preflight_json

_RENDERERS = {"text": render_preflight, "json": render_preflight_json, "markdown": render_preflight_markdown}
_CODES = {GoNoGo.GO: ExitCode.OK, GoNoGo.NO_GO: ExitCode.FINDINGS, GoNoGo.UNKNOWN: ExitCode.INCONCLUSIVE}


def run(request: PreflightRequest) -> ExitCode:
    """Judge, and write the result. Raises the problems that `cli.errors` can say."""
    report = scrubbed(run_preflight(request, MESSAGES))
    for target in request.outputs:
        options = options_for(target.path, request.color, verbose=request.verbose, quiet=request.quiet)
        write_output(_RENDERERS[target.format](report, options), target.path)
    return _CODES[report.verdict]
