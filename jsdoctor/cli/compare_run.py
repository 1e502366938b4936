"""`jsdoctor compare`: reads two reports, writes what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from jsdoctor.app.request import CompareRequest
from jsdoctor.cli.output import options_for, write_output
from jsdoctor.engine.comparison import ReportComparison, compare, exit_code
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.finding import Severity
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.report import SCHEMA
from jsdoctor.model.saved_report import SavedReport
from jsdoctor.model.typed import decode_as
from jsdoctor.render.comparison import comparison_json, comparison_markdown, comparison_text
from jsdoctor.render.options import RenderOptions


def _comparison_html(comparison: ReportComparison, options: RenderOptions) -> str:
    from jsdoctor.render.html.documents import comparison_html

    return comparison_html(comparison, options)


_RENDERERS: dict[str, Callable[[ReportComparison, RenderOptions], str]] = {
    "text": comparison_text,
    "json": comparison_json,
    "markdown": comparison_markdown,
    "html": _comparison_html,
}


def run_compare(files: tuple[Path, Path], request: CompareRequest) -> ExitCode:
    """Compare two reports. Raises `UsageProblem` for a file that is no report."""
    targets = request.outputs
    comparison = compare(*map(_read_report, files))
    for target in targets:
        options = options_for(target.path, request.color, max_examples=request.max_examples)
        write_output(_RENDERERS[target.format](comparison, options), target.path)
    return exit_code(comparison, request.fail_on or Severity.ERROR)


def _read_report(path: Path) -> SavedReport:
    try:
        return parse_saved_report(str(path), path.read_bytes())
    except OSError as error:
        raise UsageProblem(
            f"cannot read the report {path}: {error.strerror}", f"write one: jsdoctor check -o {path}"
        ) from error
    except SavedReportError as error:
        raise UsageProblem(str(error), "write reports with -o FILE.json or --format json") from error


class SavedReportError(ValueError):
    """A file that is no report."""


class _Schema(msgspec.Struct):
    schema: str = ""


def parse_saved_report(origin: str, body: bytes) -> SavedReport:
    """Read a JSON report. Raises `SavedReportError` with what is wrong with it."""
    try:
        schema = decode_as(body, _Schema).schema
        if schema != SCHEMA:
            problem = f"its schema is {schema[:60]!r}, not {SCHEMA!r}" if schema else "it names no schema"
            raise SavedReportError(f"{origin} is not a JSON report of jsdoctor: {problem}")
        return replace(decode_as(body, SavedReport), origin=origin)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SavedReportError(f"{origin} is not a JSON report of jsdoctor: {error}") from error
