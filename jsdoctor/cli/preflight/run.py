"""`jsdoctor preflight`, end to end: collect, judge, write, exit code."""

from __future__ import annotations

import sys

from jsdoctor.app.outputs import Color
from jsdoctor.app.preflight import PreflightRequest, run_preflight
from jsdoctor.cli.console import MESSAGES, ascii_only, use_color, width_of
from jsdoctor.cli.output import write_output
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.preflight import GoNoGo
from jsdoctor.parse.scrubbed import scrubbed
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.preflight import render_preflight, render_preflight_markdown
from jsdoctor.render.preflight_json import render_preflight_json

_RENDERERS = {"text": render_preflight, "json": render_preflight_json, "markdown": render_preflight_markdown}
_CODES = {GoNoGo.GO: ExitCode.OK, GoNoGo.NO_GO: ExitCode.FINDINGS, GoNoGo.UNKNOWN: ExitCode.INCONCLUSIVE}


def run(request: PreflightRequest) -> ExitCode:
    """Judge, and write the result. Raises the problems that `cli.errors` can say."""
    report = scrubbed(run_preflight(request, MESSAGES))
    for target in request.outputs:
        to_stdout = target.path is None
        options = RenderOptions(
            width=width_of(sys.stdout) if to_stdout else 100,
            color=request.color is Color.ALWAYS or (to_stdout and use_color(request.color, sys.stdout)),
            ascii_only=to_stdout and ascii_only(sys.stdout),
            verbose=request.verbose,
            quiet=request.quiet,
        )
        write_output(_RENDERERS[target.format](report, options), target.path)
    return _CODES[report.verdict]
