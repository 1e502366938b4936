"""`jsdoctor compare`: reads two reports, writes what differs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from jsdoctor.app.outputs import Color, OutputTarget, resolve
from jsdoctor.cli.console import ascii_only, use_color, width_of
from jsdoctor.cli.output import write_output
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.engine.comparison import ReportComparison, compare, exit_code
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.finding import Severity
from jsdoctor.model.saved_report import SavedReport
from jsdoctor.parse.saved_report import SavedReportError, parse_saved_report
from jsdoctor.render.comparison import comparison_json, comparison_markdown, comparison_text
from jsdoctor.render.options import RenderOptions


def _comparison_html(comparison: ReportComparison, options: RenderOptions) -> str:
    from jsdoctor.render.html.comparison import comparison_html

    return comparison_html(comparison, options)


_RENDERERS: dict[str, Callable[[ReportComparison, RenderOptions], str]] = {
    "text": comparison_text,
    "json": comparison_json,
    "markdown": comparison_markdown,
    "html": _comparison_html,
}


def run_compare(
    files: tuple[Path, Path],
    outputs: Sequence[OutputTarget] | None,
    format_: str | None,
    *,
    fail_on: Severity | None,
    max_examples: int,
    color: Color,
) -> ExitCode:
    """Compare two reports. Raises `UsageProblem` for a file that is no report."""
    targets = resolve(outputs, format_, _RENDERERS)
    comparison = compare(*map(_loaded, files))
    for target in targets:
        on_stdout = target.path is None
        options = RenderOptions(
            width=width_of(sys.stdout) if on_stdout else 80,
            color=on_stdout and use_color(color, sys.stdout),
            ascii_only=on_stdout and ascii_only(sys.stdout),
            max_examples=max_examples,
        )
        write_output(_RENDERERS[target.format](comparison, options), target.path)
    return exit_code(comparison, fail_on or Severity.ERROR)


def _loaded(path: Path) -> SavedReport:
    try:
        return parse_saved_report(str(path), path.read_bytes())
    except OSError as error:
        raise UsageProblem(
            f"cannot read the report {path}: {error.strerror}", f"write one: jsdoctor check -o {path}"
        ) from error
    except SavedReportError as error:
        raise UsageProblem(str(error), "write reports with -o FILE.json or --format json") from error
