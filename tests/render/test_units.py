"""Units: what people read must not say something else than what was measured."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.wording import span
from jsdoctor.render.wording import distinguishable, quantity, share


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "ns", "0s"),
        (12, "ns", "12ns"),
        (1_500, "duration", "1.5µs"),
        (250_000_000, "duration", "250ms"),
        (999_999_900, "duration", "1s"),
        (2_412_345_678, "duration", "2.41s"),
        (59_999_600_000, "duration", "1m"),
        (90_000_000_000, "duration", "1m30s"),
        (3_599_990_000_000, "duration", "1h"),
        (273_888_000_000_000, "duration", "3d4h"),
        (-90_000_000_000, "duration", "-1m30s"),
        (1.5, "s", "1.5s"),
        (250, "ms", "250ms"),
        (512, "bytes", "512 B"),
        (1_048_575, "bytes", "1 MiB"),
        (1_610_612_736, "bytes", "1.5 GiB"),
        (2048, "bytes_per_second", "2 KiB/s"),
        (0, "ratio", "0 %"),
        (0.83, "ratio", "83 %"),
        (0.004, "ratio", "0.4 %"),
        (0.9996, "ratio", "99.96 %"),
        (12, "ratio", "1,200 %"),
        (1_234_567, None, "1,234,567"),
        (1_234_567, "count", "1,234,567"),
        (18_446_744_073_709_551_615, "count", "18,446,744,073,709,551,615"),
        (0.12345, "count", "0.123"),
        (1234.5, "per_second", "1,234/s"),
        (3, "messages", "3 messages"),
        ("R1", "count", "R1"),
        (float("inf"), "duration", "infinite"),
        (float("nan"), "ratio", "unknown"),
    ],
)
def test_reads(value: float | str, unit: str | None, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("measured", "threshold", "unit", "texts"),
    [
        (0.7999, 0.8, "ratio", ("79.99 %", "80 %")),
        (90_200_000_000, 90_000_000_000, "duration", ("1m30s200ms", "1m30s")),
        (1_610_612_736, 1_610_612_737, "bytes", ("1610612736 bytes", "1610612737 bytes")),
        (1000, 1000, "count", ("1,000", "1,000")),
        (3, 1, "count", ("3", "1")),
        ("R1", 3, None, ("R1", "3")),
    ],
)
def test_values_that_differ_look_different(
    measured: float | str, threshold: float | str, unit: str | None, texts: tuple[str, str]
) -> None:
    assert distinguishable(measured, threshold, unit) == texts


@given(st.integers(0, 10**18), st.integers(0, 10**18), st.sampled_from(["duration", "bytes", "count", "per_second"]))
def test_any_values_that_differ_look_different(measured: int, threshold: int, unit: str) -> None:
    assume(measured != threshold)
    shown = distinguishable(measured, threshold, unit)
    assert shown[0] != shown[1]


@given(st.integers(0, 10**18))
def test_a_duration_reads_within_a_few_percent_of_what_it_is(value_ns: int) -> None:
    assert abs(parse_duration(span(value_ns).replace(",", "")) - value_ns) <= value_ns * 0.03


@given(st.floats(min_value=1e-6, max_value=1 - 1e-6))
def test_a_part_is_neither_nothing_nor_all(ratio: float) -> None:
    assert share(ratio) not in ("0 %", "100 %")
