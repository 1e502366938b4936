"""docs/matrix.md is what the tables of faults and healthy deployments are, and most faults are named."""

from __future__ import annotations

from tests.topologies.matrix_page import PAGE, fault_tables, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run make matrix"


def test_what_no_rule_names_is_listed_once() -> None:
    text = page()
    missed = [entry for table in fault_tables().values() for entry in table if entry.missed]
    assert missed
    assert all(text.count(f"| {entry.label} | {entry.missed} |") == 1 for entry in missed)
