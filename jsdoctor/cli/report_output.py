"""Writes the report of a run to the outputs and in the formats of the command line."""

from __future__ import annotations

from msgspec.structs import replace

from jsdoctor.app.judging import Judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.cli.console import say
from jsdoctor.cli.output import append_step_summary, options_for, write_output
from jsdoctor.model.report import Report
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions

DEFAULT_MAX_EXAMPLES = 5


def write_report(judging: Judging, report: Report, without_text: bool = False) -> None:
    """Write the report to every output. `without_text` leaves out what a person reads on stdout."""
    for target in judging.request.outputs:
        if without_text and target == OutputTarget("text", None):
            continue
        write_output(rendered(judging, report, target), target.path)
        if target.format == "github":
            options = render_options(judging, target)
            append_step_summary(FORMATS["markdown"](scrubbed(report), replace(options, ascii_only=False)))
    paths = [str(target.path) for target in judging.request.outputs if target.path is not None]
    if paths and len(paths) == len(judging.request.outputs) and not judging.request.quiet:
        say(f"{verdict_sentence(scrubbed(report))} Written: {', '.join(paths)}")


def rendered(judging: Judging, report: Report, target: OutputTarget) -> str:
    """The report as it goes to that output, without secrets that names and texts from outside may hold."""
    return FORMATS[target.format](scrubbed(report), render_options(judging, target))


def render_options(judging: Judging, target: OutputTarget) -> RenderOptions:
    """The render options for an output."""
    request, config = judging.request, judging.config
    examples = request.max_examples if request.max_examples is not None else config.max_examples
    return options_for(
        target.path,
        request.color,
        verbose=request.verbose,
        quiet=request.quiet,
        max_examples=DEFAULT_MAX_EXAMPLES if examples is None else examples,
        fail_on=judging.fail_on,
        exit_zero=request.exit_zero,
        allow_gaps=request.allow_gaps,
        docs_url=config.docs_url or "",
        source_line=_source_line,
    )


def _source_line(file: str, number: int) -> str:
    from jsdoctor.sources.manifests.load import source_line

    return source_line(file, number)
