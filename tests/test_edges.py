"""Each listed change of a value does to the results of its rule what the golden file says (`tools/edges.py`)."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from tests.support.ruleset import rules
from tools import edges


@pytest.mark.parametrize("code", [rule.code for rule in rules()])
def test_results_turn_where_the_golden_file_says(code: str) -> None:
    path = edges.path_of(code)
    assert path.exists(), f"there is no {path}; `make golden RULE={code}` writes it"
    text = path.read_text("utf-8")
    for wanted, line in zip_longest(text.splitlines(), edges.written(code, edges.tried(code), edges.listed(text))):
        assert line == wanted, f"{path} differs; `make golden RULE={code}` accepts it"
