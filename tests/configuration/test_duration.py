"""Durations are read as Go writes them, and written so that Go reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.duration import MAX_NS, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("250ms", 250_000_000),
        ("1.5s", 1_500_000_000),
        ("1h30m", 5_400_000_000_000),
        ("72h", 259_200_000_000_000),
        ("7d", 604_800_000_000_000),
        ("2w", 1_209_600_000_000_000),
        ("10us", 10_000),
        ("10µs", 10_000),
    ],
)
def test_read(text: str, duration_ns: int) -> None:
    assert parse_duration(text) == duration_ns


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "5sec", "1h 30m", "٣s", "1e3s"])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["16000w", "9" * 60 + "h", "1" * 70 + "s", "9" * 400 + "ns"])
def test_too_long(text: str) -> None:
    with pytest.raises(ValueError, match=r"longest duration there is|too long for a duration"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=MAX_NS))
def test_what_is_written_is_read_back(duration_ns: int) -> None:
    assert parse_duration(format_duration(duration_ns)) == duration_ns
