"""What is offered from the tables is what typer offers, for every command and each kind of value, in each shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer import rich_utils
from typer.core import TyperCommand, TyperGroup

from jsdoctor.app import rulebook
from jsdoctor.cli.app import run
from jsdoctor.cli.quick_completion import TABLE, quick_completion
from tools.catalogue import completion

_SPACE = re.compile(r"[ \t\n]+")
_BEFORE_QUOTE = re.compile(r"\s+\"")  # typer leaves the line breaks of a help text in it
BOOK = rulebook.open_rulebook()
COMMANDS = [part.partition("\n")[0] for part in Path(TABLE).read_text("utf-8")[2:].split("\n# ")][:-1]
LASTS = ("", "-", "--c", "-h", "c", "JSD7")
VALUES = (
    *("check --select ", "check --select JSD60", "check --ignore dup", "check --set JSD401", "check --set JSD401.w"),
    *(
        "check --select jsd",
        "check --fail-on ",
        "check --fail-on w",
        "check --engine x",
        "check --bundle ",
        "check -o ",
    ),
    *("check --bundle some/pl", "check --server ", "check --fail-on error --f", "check --select JSD401 --sel"),
    *("check --quiet --q", "check -v -v --v", "check log.txt --fa", "check log.txt other ", "explain ", "explain dup"),
    *("explain --color always JSD4", "diagnose --symptom ", "diagnose some ", "diagnose --symptom dup", "check\t--c"),
    *("compare one.json ", "baseline write ", "rules list --format ", "rules list --format j", "check  --c"),
    *("check --format html --color ", "check log.txt --select JSD6"),
)
LEFT = (
    *("explain JSD101 ", "compare one.json two.json ", "nothing ", "rules list x y", "baseline write base.json "),
    *("check --fail-on=", "check --fail-on=e", "check -- --c", "check --no-such --c", "check 'a b' --c", 'check "a'),
    *("check --select --c", "--version "),
)


def _normal(text: str) -> str:
    return _SPACE.sub(" ", _BEFORE_QUOTE.sub('"', text))


def environment(shell: str, typed: str) -> dict[str, str]:
    """What the shell's script sets."""
    typed = f"jsdoctor {typed}"
    return {
        "_JSDOCTOR_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - (not typed.endswith((" ", "\t")))),
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }


@pytest.fixture(autouse=True)
def _loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulebook, "open_rulebook", lambda *_, **__: BOOK)
    for kind in (TyperCommand, TyperGroup):  # typer takes the names of this option from a set, in any order
        monkeypatch.setattr(kind, "get_help_option_names", lambda _, context: context.help_option_names[::-1])
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 1000)  # typer breaks help within an item where the terminal is narrow


def compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str, typed: str) -> bool:
    """Whether the tables were enough. What they offer is what typer does."""
    given = environment(shell, typed)
    offered = quick_completion(given)
    if offered is None:
        return False
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert run([]) == 0
    printed = capsys.readouterr().out
    assert _normal(f"{offered}\n") == _normal(printed), typed
    return True


def test_the_table_is_current() -> None:
    assert Path(TABLE).read_text("utf-8") == completion(), "run: make catalogue"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str) -> None:
    for last in LASTS:
        assert compared(monkeypatch, capsys, "bash", f"{command} {last}".lstrip())
    assert compared(monkeypatch, capsys, "zsh", f"{command} -".lstrip())
    assert compared(monkeypatch, capsys, "fish", f"{command} -".lstrip())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_values(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert [typed for typed in VALUES if not compared(monkeypatch, capsys, shell, typed)] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_typer_has_to_find(shell: str) -> None:
    assert [typed for typed in LEFT if quick_completion(environment(shell, typed)) is not None] == []


@pytest.mark.parametrize("shell", ["powershell", "pwsh", "tcsh", ""])
def test_other_shells_are_left_to_typer(shell: str) -> None:
    assert quick_completion(environment(shell, "ch")) is None


def test_nothing_is_loaded_that_takes_long() -> None:
    code = "import sys, jsdoctor.__main__ as m; m.main(); print(*{'typing', 'typer', 'rich'} & set(sys.modules))"
    given = {**os.environ, **environment("bash", "check --select JSD10")}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["JSD101", "JSD102", "JSD103", "JSD104", "JSD105", "JSD106", "JSD107", "JSD108"]
