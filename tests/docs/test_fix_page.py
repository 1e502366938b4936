"""docs/fix.md names every action that can be carried out, every ending, and commands that exist."""

import re
from pathlib import Path

import pytest

from jsdoctor.remedy.operation import Operation
from tests.cli.invoke import jsdoctor
from tests.support.ruleset import actions

PAGE = Path("docs/fix.md").read_text("utf-8")


def test_every_action_that_can_be_carried_out_is_listed() -> None:
    rows = " ".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`((?:stream|consumer|cluster|server)\.[a-z_]+)`", rows))
    assert named == {name for name, action in actions().items() if isinstance(action, Operation)}


@pytest.mark.parametrize("command", sorted({*re.findall(r"^jsdoctor (\w+)", PAGE, re.MULTILINE)}))
def test_its_options_exist(command: str, tmp_path: Path) -> None:
    known = jsdoctor(command, "--help", cwd=tmp_path, env={"COLUMNS": "200"}).stdout
    used = {
        word
        for line in PAGE.splitlines()
        if line.startswith(f"jsdoctor {command} ")
        for word in re.findall(r"(?<!\S)--?[a-z-]+", line.partition("#")[0])
    }
    assert {word for word in used if word not in known} == set()
