"""Thresholds in metadata: what the peers accept is accepted, everything else is told, nothing crashes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.checks.monitor_metadata import ENABLED, PREFIX, ValueKind, parse_monitor_duration, read_thresholds

KEYS = {"many": ValueKind.COUNT, "long": ValueKind.DURATION, "on": ValueKind.FLAG}


@pytest.mark.parametrize(
    "text", ["", "5", "5 minutes", "1h 30m", "1x", "s", "1..5s", "--1s", "1s-1s", "300y", "9" * 400 + "s"]
)
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|unit"):
        parse_monitor_duration(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5 minutes", "'5 minutes' is not a duration"),
        ("0" * 63 + "5s", "'" + "0" * 63 + "5s' is not a duration"),
        ("1x", "'1x': there is no unit 'x'"),
        ("9223372036854775808ns", "'9223372036854775808ns' is too long for a duration"),
    ],
)
def test_why_a_text_is_no_duration(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        parse_monitor_duration(text)


@pytest.mark.parametrize("text", ["yes", "on", "tRUE", "", "2"])
def test_what_is_neither(text: str) -> None:
    thresholds = read_thresholds({ENABLED: "true", PREFIX + "on": text}, KEYS)
    assert thresholds is not None
    assert thresholds.unreadable == {"on": "true or false"}


@given(st.dictionaries(st.sampled_from([ENABLED, *(PREFIX + key for key in KEYS)]), st.text(max_size=12)))
def test_every_value_is_used_off_or_reported(metadata: dict[str, str]) -> None:
    thresholds = read_thresholds(metadata, KEYS)
    if thresholds is None:
        return
    used = {*thresholds.counts, *thresholds.durations_ns, *thresholds.flags}
    assert not used & set(thresholds.unreadable)
    assert all(value > 0 for value in (*thresholds.counts.values(), *thresholds.durations_ns.values()))
