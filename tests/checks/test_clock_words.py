"""Differences between clocks in words: rounded as a person would, the bound never to less than it is."""

from __future__ import annotations

import pytest

from jsdoctor.checks.clock_skew.words import difference, doubt, listed
from jsdoctor.model.clock import Offset

MS = 1_000_000


@pytest.mark.parametrize(
    ("middle_ns", "bound_ns", "words"),
    [
        (5_000_022_957, 611_536, "5s ahead of n1 (±612µs)"),
        (129_999_888_459, 400_984, "2m10s ahead of n1 (±401µs)"),
        (-250_004_000, 1_000_001, "250ms behind n1 (±1ms10µs)"),
        (-3_600_000 * MS, 0, "1h behind n1 (±0s)"),
        (0, 999, "0s ahead of n1 (±999ns)"),
        (59_999_999_999, 80 * MS, "1m ahead of n1 (±80ms)"),
    ],
)
def test_differences(middle_ns: int, bound_ns: int, words: str) -> None:
    assert difference(Offset(middle_ns - bound_ns, middle_ns + bound_ns), "n1") == words


def test_doubts() -> None:
    assert doubt(Offset(-100 * MS, 300 * MS), "that of n1") == (
        "its clock is 100ms ahead of that of n1, give or take 200ms"
    )


def test_names() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
