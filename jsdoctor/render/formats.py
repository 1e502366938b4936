"""The formats a report can be written in, by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jsdoctor.model.report import Report
from jsdoctor.render.github import render_github
from jsdoctor.render.gitlab import render_gitlab
from jsdoctor.render.json_v1 import render_json
from jsdoctor.render.junit import render_junit
from jsdoctor.render.markdown import render_markdown
from jsdoctor.render.nagios import render_nagios
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.prometheus import render_prometheus
from jsdoctor.render.sarif import render_sarif
from jsdoctor.render.text import render_text

Render = Callable[[Report, RenderOptions], str]


def _render_html(report: Report, options: RenderOptions) -> str:
    """Imported when it is wanted: no other format needs a template engine."""
    from jsdoctor.render.html.page import render_html  # noqa: PLC0415

    return render_html(report, options)


FORMATS: Mapping[str, Render] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "junit": render_junit,
    "github": render_github,
    "gitlab": render_gitlab,
    "markdown": render_markdown,
    "nagios": render_nagios,
    "prometheus": render_prometheus,
    "html": _render_html,
}
"""Every render function is pure and total: it takes any report and returns what is to be written, newline included."""
