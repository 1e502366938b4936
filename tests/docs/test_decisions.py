"""docs/adr: each decision has a status and a date, and its index lists all of them."""

from __future__ import annotations

import re

from tests.docs.prose import ROOT

DIRECTORY = ROOT / "docs" / "adr"
DECISIONS = sorted(DIRECTORY.glob("0*.md"))
STATUS = re.compile(r"^Status: \w.*, \d{4}-\d\d-\d\d$", re.MULTILINE)


def test_each_has_a_status_and_a_date() -> None:
    assert DECISIONS
    assert [decision.name for decision in DECISIONS if not STATUS.search(decision.read_text("utf-8"))] == []


def test_the_index_lists_all() -> None:
    index = (DIRECTORY / "README.md").read_text("utf-8")
    assert [decision.name for decision in DECISIONS if f"]({decision.name})" not in index] == []
