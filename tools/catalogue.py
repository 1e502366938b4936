"""Writes `jsdoctor/cli/catalogue.txt` and `completion.txt`, of which `rules list`, `explain` and completion are made.

python -m tools.catalogue         (or: make catalogue)
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.rich_utils import rich_render_text

from jsdoctor.app.rulebook import open_rulebook, open_symptoms
from jsdoctor.cli.app import app
from jsdoctor.cli.completion import complete_page, complete_rule, complete_setting, complete_symptom
from jsdoctor.cli.quick import CATALOGUE
from jsdoctor.cli.quick_completion import TABLE
from jsdoctor.model.rule import Rule
from jsdoctor.render.explain import page_markdown
from jsdoctor.render.options import RenderOptions


def catalogue() -> str:
    """The file as it should be."""
    book = open_rulebook()
    symptoms = {symptom.slug for symptom in open_symptoms(book).symptoms}
    return "".join(
        "\t".join(
            (
                *(rule.code, rule.severity.value, rule.slug, rule.status.value, rule.title, rule.failure_mode),
                "symptom" if rule.slug in symptoms else "",
                *_facts(rule),
            )
        )
        + "\n"
        for rule in book.rules
    )


def _facts(rule: Rule) -> Iterator[str]:
    """The lines of the page between its title and its text."""
    page = page_markdown(rule, RenderOptions())
    facts = page.removesuffix(rule.body.strip() + "\n").split("\n")[3:-1]
    assert not any("\t" in line for line in (*facts, rule.title))
    yield from facts


_KINDS = {complete_rule: "rule", complete_symptom: "symptom", complete_page: "page", complete_setting: "setting"}


def completion() -> str:
    """The table of commands, options, arguments and symptoms as it should be."""
    symptoms = open_symptoms(open_rulebook()).symptoms
    listed = "".join(f"{symptom.slug}\t\t\t{symptom.title}\n" for symptom in symptoms)
    return "".join(_sections(get_command(app), "")) + f"# symptoms\n{listed}"


def _sections(command: Any, path: str, parent: Any = None) -> Iterator[str]:
    context = command.make_context(path, [], parent=parent, resilient_parsing=True)
    below = getattr(command, "commands", {})
    lines = [(name, "command", "", sub.get_short_help_str()) for name, sub in below.items() if not sub.hidden]
    lines += [_line(parameter) for parameter in command.get_params(context) if not parameter.hidden]
    yield f"# {path}\n" + "".join("\t".join(line) + "\n" for line in lines)
    for name, sub in below.items():
        yield from _sections(sub, f"{path} {name}".strip(), context)


def _line(parameter: Any) -> tuple[str, str, str, str]:
    is_argument = parameter.param_type_name == "argument"
    names = "" if is_argument else " ".join(sorted((*parameter.opts, *parameter.secondary_opts), key=len, reverse=True))
    repeats = parameter.nargs == -1 if is_argument else parameter.multiple
    help_ = " ".join(rich_render_text(parameter.help or "").split())
    return names, _kind(parameter), "repeats" if repeats else "", help_


def _kind(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False) or getattr(parameter, "count", False):
        return "flag"
    if parameter._custom_shell_complete is not None:
        return _KINDS[_completer(parameter._custom_shell_complete)]
    return "|".join(getattr(parameter.type, "choices", ())) or "text"


def _completer(function: Any) -> Any:
    """The function of `cli.completion` in those that typer wraps it in."""
    inner = inspect.getclosurevars(function).nonlocals
    return function if function in _KINDS else _completer(inner.get("autocompletion") or inner["callback"])


if __name__ == "__main__":
    Path(TABLE).write_text(completion(), "utf-8")
    Path(CATALOGUE).write_text(catalogue(), "utf-8")
