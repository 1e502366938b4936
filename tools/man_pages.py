"""Writes `docs/man/*.1`, one page for each command, from what `--help` says.

python -m tools.man_pages         (or: make man)
"""

from __future__ import annotations

import sys
from inspect import cleandoc
from pathlib import Path
from typing import Any

import typer
from click_man.man import ManPage  # type: ignore[import-untyped]

from jsdoctor import __version__
from jsdoctor.cli.app import app

MAN = Path(__file__).resolve().parent.parent / "docs" / "man"


def write(directory: Path) -> None:
    """Write one page per command. Pages carry the version instead of a date: the same commands give the same pages."""
    directory.mkdir(parents=True, exist_ok=True)
    command = typer.main.get_command(app)
    _write(directory, command, command.make_context("jsdoctor", [], resilient_parsing=True))


# click-man's own walk skips every option: it looks for options of click, and typer has a copy of click inside.
def _write(directory: Path, command: Any, context: Any) -> None:
    page = ManPage(context.command_path)
    page.version = page.date = __version__
    page.short_help = command.get_short_help_str()
    page.description = cleandoc(command.help)
    page.synopsis = " ".join(command.collect_usage_pieces(context))
    records = [
        parameter.get_help_record(context) for parameter in command.params if not getattr(parameter, "hidden", 0)
    ]
    page.options = [record for record in records if record]
    children = getattr(command, "commands", {})
    page.commands = [(name, child.get_short_help_str()) for name, child in children.items()]
    (directory / (context.command_path.replace(" ", "-") + ".1")).write_text(str(page), "utf-8")
    for name, child in children.items():
        _write(directory, child, child.make_context(name, [], parent=context, resilient_parsing=True))


if __name__ == "__main__":
    for old in MAN.glob("*.1"):
        old.unlink()
    write(MAN)
    sys.stderr.write(f"wrote {len(list(MAN.glob('*.1')))} pages to {MAN}\n")
