"""Words that messages of checks share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.wording import span

MINUTE_NS = 60_000_000_000


@pytest.mark.parametrize(
    ("duration_ns", "expected"),
    [
        (0, "0s"),
        (1, "1ns"),
        (250_000_000, "250ms"),
        (1_500_000_000, "1.5s"),
        (5_000_000_000, "5s"),
        (90_000_000_000, "1m30s"),
        (60 * MINUTE_NS, "1h"),
        (72 * 60 * MINUTE_NS, "3d"),
        (24 * 60 * MINUTE_NS + 5_000_000_000, "1d"),
        (2_242_000_000, "2.24s"),
        (59_999_600_000, "1m"),
        (-2 * MINUTE_NS, "-2m"),
    ],
)
def test_span(duration_ns: int, expected: str) -> None:
    assert span(duration_ns) == expected


@given(st.integers(min_value=1, max_value=10**19))
def test_span_of_a_duration_is_never_zero(duration_ns: int) -> None:
    assert span(duration_ns) != "0s"
    assert span(-duration_ns) == "-" + span(duration_ns)
