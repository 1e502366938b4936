"""The formats a report can be written in: the one list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from jsdoctor.model.report import Report
    from jsdoctor.render.options import RenderOptions

Render = Callable[["Report", "RenderOptions"], str]


class ReportFormat(StrEnum):
    """Formats that a report can be written in: what `--format` takes, module and function, suffixes of files."""

    TEXT = "text", "text.render_text", ".txt"
    JSON = "json", "json_v1.render_json", ".json"
    SARIF = "sarif", "sarif.render_sarif", ".sarif"
    JUNIT = "junit", "junit.render_junit", ".xml"
    GITHUB = "github", "github.render_github"
    GITLAB = "gitlab", "gitlab.render_gitlab"
    MARKDOWN = "markdown", "markdown.render_markdown", ".md", ".markdown"
    ISSUE = "issue", "issue.render_issue"
    NAGIOS = "nagios", "nagios.render_nagios"
    PROMETHEUS = "prometheus", "prometheus.render_prometheus", ".prom"
    HTML = "html", "html.page.render_html", ".html", ".htm"

    function: str
    suffixes: tuple[str, ...]

    def __new__(cls, name: str, function: str, *suffixes: str) -> Self:
        """`suffixes` are lower case; a file with one of them has this format."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.function, member.suffixes = function, suffixes
        return member


def _imported(function: str) -> Render:
    """That function, imported when it is first wanted: a run writes one or two of the formats."""
    module, _, name = function.rpartition(".")

    def render(report: Report, options: RenderOptions) -> str:
        written = cast("Render", getattr(import_module(f"jsdoctor.render.{module}"), name))
        return written(report, options)

    return render


FORMATS: Mapping[str, Render] = {format_.value: _imported(format_.function) for format_ in ReportFormat}
"""Every render function is pure and total: it takes any report and returns what is to be written, newline included."""
