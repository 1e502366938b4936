"""`--version` and `--help` answer at once, and say what typer would say."""

from __future__ import annotations

from pathlib import Path

import jsdoctor as package
from jsdoctor.__main__ import HELP_PAGE
from tests.cli.invoke import jsdoctor
from tools.help_page import help_of_typer


def test_version(tmp_path: Path) -> None:
    done = jsdoctor("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"jsdoctor {package.__version__}\n")


def test_help_page_is_what_typer_prints() -> None:
    assert Path(HELP_PAGE).read_text("utf-8") == help_of_typer(), "run: make help-page"


def test_help_is_the_page(tmp_path: Path) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        assert jsdoctor(*arguments, cwd=tmp_path).stdout == Path(HELP_PAGE).read_text("utf-8")


def test_every_command_has_help_with_its_options(tmp_path: Path) -> None:
    for command in (("check",), ("capture",), ("explain",), ("demo",), ("rules", "list"), ("rules", "validate")):
        done = jsdoctor(*command, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert "--help" in done.stdout
    assert "Examples:" in jsdoctor("check", "--help", cwd=tmp_path).stdout
