"""The report as an HTML page, in `jsdoctor.render.html`: its libraries take longer to import than all other formats."""

from __future__ import annotations

from jsdoctor.model.report import Report
from jsdoctor.render.options import RenderOptions

SUFFIXES = (".htm",)


def render(report: Report, options: RenderOptions) -> str:
    """One self-contained file."""
    from jsdoctor.render.html.page import render_html  # noqa: PLC0415 - 40 ms that another format does not need

    return render_html(report, options)
