"""`jsdoctor rules list` shows the rules that were asked for, with whole titles in a pipe."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import jsdoctor
from tests.support.ruleset import rules


def listed(*words: str) -> list[dict[str, Any]]:
    done = jsdoctor("rules", "list", "--format", "json", *words, cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rules"]
    return found


@pytest.mark.parametrize(
    ("words", "some", "none"),
    [
        (("--severity", "critical"), "JSD701", "JSD403"),
        (("--family", "consumer_lag"), "JSD403", "JSD602"),
        (("--evidence", "packets"), "JSD501", "JSD701"),
        (("--evidence", "kubernetes"), "JSD832", "JSD403"),
        (("--fixable",), "JSD602", "JSD701"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_those_that_are_wanted(words: tuple[str, ...], some: str, none: str) -> None:
    codes = {rule["code"] for rule in listed(*words)}
    assert some in codes
    assert none not in codes


def test_filters_narrow_each_other() -> None:
    both = listed("--family", "stream_limits", "--fixable")
    assert both
    assert all(rule["failure_mode"] == "stream_limits" and rule["remedy"] for rule in both)


def test_an_unknown_family_names_the_known_ones() -> None:
    done = jsdoctor("rules", "list", "--family", "consumers", cwd=Path("/"))
    assert done.returncode == 2
    assert "consumer_lag" in done.stderr


def test_titles_are_whole_in_a_pipe() -> None:
    done = jsdoctor("rules", "list", cwd=Path("/"))
    assert all(rule.title in done.stdout for rule in rules())
