"""What is answered from the catalogue is what the whole command line prints."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from jsdoctor.app.outputs import Color
from jsdoctor.app.rulebook import open_rulebook, open_symptoms
from jsdoctor.cli import rule_commands
from jsdoctor.cli.quick import CATALOGUE, run_quickly
from tests.cli.invoke import jsdoctor
from tools.catalogue import catalogue

BOOK = open_rulebook()
SYMPTOMS = {symptom.slug for symptom in open_symptoms(BOOK).symptoms}
ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"COLUMNS": "30"},
    {"COLUMNS": "61"},
    {"COLUMNS": "78"},
    {"COLUMNS": "200"},
    {"COLUMNS": "wide"},
    {"TERM": "dumb"},
    {"FORCE_COLOR": "1"},
    {"FORCE_COLOR": "1", "NO_COLOR": "1"},
    {"COLUMNS": "100", "FORCE_COLOR": "1"},
]
_LOADS = """
import sys
before = set(sys.modules)
from jsdoctor.cli.quick import run_quickly
assert run_quickly(sys.argv[1:])
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded & {"json", "msgspec", "pathlib", "rich", "shutil", "tomli", "typer", "typing"}), file=sys.stderr)
"""


class Stream(StringIO):
    """Output to a pipe, or on a terminal."""

    def __init__(self, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal, self._encoding = terminal, encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM", "JSDOCTOR_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(rule_commands, "open_rulebook", lambda *_, **__: BOOK)


def quick(monkeypatch: pytest.MonkeyPatch, arguments: list[str], stream: Stream | None = None) -> str:
    """What the catalogue answers; empty where the whole command line is wanted."""
    out = stream or Stream()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", out)
        answered = run_quickly(arguments)
    assert answered is bool(out.getvalue())
    return out.getvalue()


def whole(monkeypatch: pytest.MonkeyPatch, arguments: list[str], stream: Stream | None = None) -> str:
    """What the command prints."""
    out = stream or Stream()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", out)
        if arguments[0] == "rules":
            rule_commands.list_rules((), "text", Color.AUTO)
        else:
            rule_commands.show_page(arguments[1], (), Color.AUTO)
    return out.getvalue()


def test_the_catalogue_is_current() -> None:
    assert Path(CATALOGUE).read_text("utf-8") == catalogue(), "run: make catalogue"


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=str)
def test_in_every_width_and_colour(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], terminal: bool
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for arguments in (["rules", "list"], ["explain", "JSD101"], ["explain", "jsd403"], ["explain", "clock-stepped"]):
        answer = quick(monkeypatch, arguments, Stream(terminal))
        assert answer
        assert answer == whole(monkeypatch, arguments, Stream(terminal))


def test_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for rule in BOOK.rules:
        assert quick(monkeypatch, ["explain", rule.code]) == whole(monkeypatch, ["explain", rule.code])


def test_a_slug_of_a_rule_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a slug that a symptom has, too, both pages are printed, by the whole command line."""
    for rule in BOOK.rules:
        answer = quick(monkeypatch, ["explain", rule.slug.upper()])
        assert bool(answer) is (rule.slug not in SYMPTOMS)
        assert not answer or answer == whole(monkeypatch, ["explain", rule.slug.upper()])


@pytest.mark.parametrize(
    "arguments",
    [
        *(["explain", name] for name in ("JSD999", "10071", "duplicate-messages", "--help", "")),
        *(["explain"], ["explain", "JSD101", "--color", "always"], ["--", "explain", "JSD101"]),
        *(["rules"], ["rules", "validate"], ["rules", "list", "--format", "json"], ["check"], []),
    ],
    ids=" ".join,
)
def test_what_the_whole_command_line_answers(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    assert quick(monkeypatch, arguments) == ""


def test_where_the_whole_command_line_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert quick(monkeypatch, ["rules", "list"], Stream(encoding="ascii")) == ""
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert quick(monkeypatch, ["rules", "list"])
    (tmp_path / "pyproject.toml").write_text("[tool.jsdoctor]\n")
    assert quick(monkeypatch, ["rules", "list"]) == ""
    (tmp_path / "pyproject.toml").unlink()
    monkeypatch.setenv("JSDOCTOR_ENVIRONMENT", "production")
    assert quick(monkeypatch, ["rules", "list"]) == ""
    monkeypatch.delenv("JSDOCTOR_ENVIRONMENT")
    (tmp_path / "jsdoctor.toml").write_text("")
    assert quick(monkeypatch, ["explain", "JSD101"]) == ""


def test_a_missing_page_is_left_to_the_whole_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    catalogue_of_one = tmp_path / "catalogue.txt"
    catalogue_of_one.write_text("X101\tinfo\tlost\tstable\tIt is there\tnowhere\t\n")
    monkeypatch.setattr("jsdoctor.cli.quick.CATALOGUE", str(catalogue_of_one))
    assert quick(monkeypatch, ["explain", "X101"]) == ""
    catalogue_of_one.unlink()
    assert quick(monkeypatch, ["rules", "list"]) == ""


@pytest.mark.parametrize("arguments", [("rules", "list"), ("explain", "JSD101")])
def test_as_a_process(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Nothing is loaded that takes long. `re` is there already: the script that starts jsdoctor uses it."""
    done = jsdoctor(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "jsdoctor.toml").write_text("")
    assert jsdoctor(*arguments, cwd=tmp_path).stdout == done.stdout
    loads = subprocess.run(
        [sys.executable, "-c", f"import re, collections.abc\n{_LOADS}", *arguments],
        cwd=tmp_path / "..",
        capture_output=True,
        text=True,
        check=True,
    )
    assert (loads.stdout, loads.stderr) == (done.stdout, "[]\n")
