"""What each rule says in its cases, to the word: messages, measured values, evidence, commands, and what passes."""

from __future__ import annotations

import pytest

from tests.golden_results import path_of, text_of
from tests.ruleset import rules


@pytest.mark.parametrize("code", [rule.code for rule in rules()])
def test_results_are_those_of_the_golden_file(code: str) -> None:
    path = path_of(code)
    assert path.exists(), f"there is no {path}; `make golden` writes it"
    assert text_of(code) == path.read_text(encoding="utf-8"), f"{path} differs; `make golden` accepts the new text"
