"""`jsdoctor rules list`, `rules validate` and `explain`."""

from __future__ import annotations

import sys
from pathlib import Path

from jsdoctor.cli.console import Color, ascii_only, use_color, width_of
from jsdoctor.cli.rulebook import open_rulebook
from jsdoctor.engine.select import find_rule
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.render.explain import page_markdown, page_rendered
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.rule_list import rules_json, rules_text


def list_rules(directories: tuple[Path, ...], format_: str, color: Color) -> ExitCode:
    """Print the catalogue."""
    rules = open_rulebook(directories).rules
    write = rules_json if format_ == "json" else rules_text
    sys.stdout.write(write(rules, _options(color)))
    return ExitCode.OK


def show_page(name: str, directories: tuple[Path, ...], color: Color) -> ExitCode:
    """Print one rule page: drawn on a terminal, as Markdown elsewhere."""
    rule = find_rule(open_rulebook(directories).rules, name)
    drawn = sys.stdout.isatty() or color is Color.ALWAYS
    sys.stdout.write((page_rendered if drawn else page_markdown)(rule, _options(color)))
    return ExitCode.OK


def validate_rules(directories: tuple[Path, ...]) -> ExitCode:
    """Load every page; loading is validation."""
    rulebook = open_rulebook(directories)
    sys.stdout.write(f"{len(rulebook.rules)} rules, no mistakes\n")
    return ExitCode.OK


def _options(color: Color) -> RenderOptions:
    return RenderOptions(
        width=width_of(sys.stdout), color=use_color(color, sys.stdout), ascii_only=ascii_only(sys.stdout)
    )
