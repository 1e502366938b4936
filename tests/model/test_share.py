"""Wilson's interval, against values of the literature, and what it makes of little data."""

import pytest

from jsdoctor.model.share import Share


@pytest.mark.parametrize(
    ("events", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),  # R. G. Newcombe, Statistics in Medicine 17 (1998), method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_known_intervals(events: int, of: int, low: float, high: float) -> None:
    share = Share(events, of)
    assert share.low == pytest.approx(low, abs=1e-4)
    assert share.high == pytest.approx(high, abs=1e-4)


@pytest.mark.parametrize(
    ("events", "of", "sure"),
    [
        (1, 4, False),  # a quarter, and yet one accident
        (2, 40, False),
        (3, 32, True),
        (9, 900, False),
        (10, 1000, True),
        (10, 1001, False),
        (0, 0, False),
    ],
)
def test_a_limit_is_reached_by_enough_events_or_beyond_doubt(events: int, of: int, sure: bool) -> None:
    assert Share(events, of).reaches(0.01, 10) is sure
