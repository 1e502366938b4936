"""The arithmetic of the benchmarks: spreads, exponents, verdicts."""

import math

import pytest

from bench.figures import Row, Spread, Table, exponent


def test_spread_is_median_least_and_greatest() -> None:
    spread = Spread.of([3.0, 1.0, 2.0, 10.0])
    assert (spread.middle, spread.least, spread.greatest) == (2.5, 1.0, 10.0)
    assert spread.text(" ms", 1, scale=1000) == "2500.0 ms (1000.0 to 10000.0)"


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_exponent_of_a_power_law(power: float) -> None:
    assert exponent((size, 0.3 * size**power) for size in (100, 200, 500, 1000)) == pytest.approx(power)


def test_exponent_needs_two_points_above_zero() -> None:
    assert math.isnan(exponent([(100, 1.0), (200, 0.0), (500, -0.1)]))


def test_only_a_missed_promise_counts_as_missed() -> None:
    kept, plain = Row("a", "1", "at most 2", met=True), Row("b", "7")
    report_only, broken = Row("c", "9", "at most 2", met=False, strict=False), Row("d", "9", "at most 2", met=False)
    assert [row.verdict for row in (kept, plain, report_only, broken)] == ["PASS", "", "MISS", "MISS"]
    assert not Table("t", (kept, plain, report_only)).missed
    assert Table("t", (kept, broken)).missed


def test_table_aligns_its_columns() -> None:
    table = Table("Title", (Row("short", "1.0x", "at most 6x", met=True), Row("a longer name", "2 s")), ("a note",))
    assert table.text().splitlines() == [
        "Title",
        "-----",
        "short          1.0x  at most 6x  PASS",
        "a longer name  2 s",
        "  a note",
    ]
