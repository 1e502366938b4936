"""Parser of `-o` for typer."""

from __future__ import annotations

from pathlib import Path

import typer

from jsdoctor.app.outputs import OutputTarget
from jsdoctor.render.formats import ReportFormat


def target(text: str | OutputTarget) -> OutputTarget:
    """An output as given, for typer: `FILE`, `-`, or either with `FORMAT=` before it."""
    if isinstance(text, OutputTarget):
        return text
    format_, equals, name = text.partition("=")
    if not (equals and format_ in set(ReportFormat)):
        format_, name = "", text
    if not name:
        raise typer.BadParameter("write it as FILE, FORMAT=FILE or -")
    if name != "-" and Path(name).is_dir():
        raise typer.BadParameter(f"{name} is a directory")
    return OutputTarget(format_, None if name == "-" else Path(name))
