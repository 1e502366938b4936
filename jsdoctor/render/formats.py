"""The formats a report can be written in, by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jsdoctor.model.report import Report
from jsdoctor.render.json_v1 import render_json
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.text import render_text

Render = Callable[[Report, RenderOptions], str]

FORMATS: Mapping[str, Render] = {
    "text": render_text,
    "json": render_json,
}
"""Every render function is pure and total: it takes any report and returns what is to be written, newline included."""
