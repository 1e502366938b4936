"""The formats a report can be written in, by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from jsdoctor.model.report import Report
from jsdoctor.render.options import RenderOptions

Render = Callable[[Report, RenderOptions], str]


def _imported(module: str, function: str) -> Render:
    """That function, imported when it is first wanted: a run writes one or two of the formats."""

    def render(report: Report, options: RenderOptions) -> str:
        found = cast("Render", getattr(import_module(f"jsdoctor.render.{module}"), function))
        return found(report, options)

    return render


FORMATS: Mapping[str, Render] = {
    "text": _imported("text", "render_text"),
    "json": _imported("json_v1", "render_json"),
    "sarif": _imported("sarif", "render_sarif"),
    "junit": _imported("junit", "render_junit"),
    "github": _imported("github", "render_github"),
    "gitlab": _imported("gitlab", "render_gitlab"),
    "markdown": _imported("markdown", "render_markdown"),
    "nagios": _imported("nagios", "render_nagios"),
    "prometheus": _imported("prometheus", "render_prometheus"),
    "html": _imported("html.page", "render_html"),
}
"""Every render function is pure and total: it takes any report and returns what is to be written, newline included."""
