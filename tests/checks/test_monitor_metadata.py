"""Thresholds in metadata: what the peers accept is accepted, everything else is told, nothing crashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.checks.monitor_metadata import (
    ENABLED,
    PREFIX,
    Presets,
    Thresholds,
    ValueKind,
    parse_monitor_duration,
    read_thresholds,
)
from jsdoctor.model.params import Params

KEYS = {"many": ValueKind.COUNT, "long": ValueKind.DURATION, "on": ValueKind.FLAG}
HOUR_NS = 3_600_000_000_000


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("1h30m", HOUR_NS * 3 // 2),
        ("5m", HOUR_NS // 12),
        ("1M", 30 * 24 * HOUR_NS),
        ("1d", 24 * HOUR_NS),
        ("2W1D", 15 * 24 * HOUR_NS),
        ("1y", 365 * 24 * HOUR_NS),
        ("2h", 2 * HOUR_NS),
        ("1D", 24 * HOUR_NS),
        ("1w", 7 * 24 * HOUR_NS),
        ("1Y", 365 * 24 * HOUR_NS),
        ("3ns", 3),
        ("3us", 3_000),
        ("3µs", 3_000),
        ("3ms", 3_000_000),
        ("-1m", -HOUR_NS // 60),
        (" 250ms ", 250_000_000),
        ("+5s", 5_000_000_000),
        ("+0", 0),
        ("-0", 0),
        ("0" * 62 + "5s", 5_000_000_000),
        ("9223372036854775807ns", (1 << 63) - 1),
        ("-9223372036854775807ns", 1 - (1 << 63)),
    ],
)
def test_durations(text: str, duration_ns: int) -> None:
    assert parse_monitor_duration(text) == duration_ns


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


@pytest.mark.parametrize(("text", "count"), [("0" * 63 + "7", 7), ("0" * 64 + "7", None), ("1_0", None), ("+7", 7)])
def test_whole_numbers(text: str, count: int | None) -> None:
    thresholds = read_thresholds({ENABLED: "true", PREFIX + "many": text}, KEYS)
    assert thresholds is not None
    assert thresholds.counts.get("many") == count
    assert thresholds.unreadable == ({} if count else {"many": "a whole number"})


@pytest.mark.parametrize("enabled", [None, "false", "0", "F"])
def test_nothing_counts_unless_enabled(enabled: str | None) -> None:
    metadata = {PREFIX + "many": "5"} | ({ENABLED: enabled} if enabled else {})
    assert read_thresholds(metadata, KEYS) is None


def test_values_by_kind() -> None:
    thresholds = read_thresholds(
        {ENABLED: "True", PREFIX + "many": "7", PREFIX + "long": "2m", PREFIX + "on": "t", PREFIX + "new": "x"}, KEYS
    )
    assert thresholds == Thresholds({"many": 7}, {"long": HOUR_NS // 30}, frozenset({"on"}), own=frozenset(KEYS))


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_what_is_true(text: str) -> None:
    thresholds = read_thresholds({ENABLED: text, PREFIX + "on": text}, KEYS)
    assert thresholds is not None
    assert thresholds.flags == frozenset({"on"})


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_what_is_false(text: str) -> None:
    assert read_thresholds({ENABLED: text, PREFIX + "on": "true"}, KEYS) is None
    assert read_thresholds({ENABLED: "true", PREFIX + "on": text}, KEYS) == Thresholds()


@pytest.mark.parametrize("text", ["yes", "on", "tRUE", "", "2"])
def test_what_is_neither(text: str) -> None:
    thresholds = read_thresholds({ENABLED: "true", PREFIX + "on": text}, KEYS)
    assert thresholds is not None
    assert thresholds.unreadable == {"on": "true or false"}


def test_zero_and_below_are_off() -> None:
    thresholds = read_thresholds(
        {ENABLED: "1", PREFIX + "many": "-1", PREFIX + "long": "0", PREFIX + "on": "false"}, KEYS
    )
    assert thresholds == Thresholds()


OWN = {ENABLED: "true", PREFIX + "many": "7", PREFIX + "long": "x"}


def test_what_was_given_goes_before_metadata_and_metadata_before_defaults() -> None:
    params = Params.of({"many": 1, "long": None, "on": 1}, {})
    assert read_thresholds({}, KEYS, Presets.of(params, KEYS)) == Thresholds({"many": 1}, {}, frozenset({"on"}))
    assert read_thresholds(OWN, KEYS, Presets.of(params, KEYS)) == Thresholds(
        {"many": 7}, {}, frozenset({"on"}), {"long": ValueKind.DURATION.value}, frozenset({"many"})
    )
    params = Params.of({"many": 1, "long": None, "on": 1}, {"many": 3, "long": HOUR_NS, "on": 0})
    for metadata in ({}, OWN):
        assert read_thresholds(metadata, KEYS, Presets.of(params, KEYS)) == Thresholds({"many": 3}, {"long": HOUR_NS})


def test_a_page_that_declares_no_parameters_has_only_metadata() -> None:
    assert read_thresholds({}, KEYS, Presets.of(Params({}), KEYS)) is None


@given(st.dictionaries(st.sampled_from([ENABLED, *(PREFIX + key for key in KEYS)]), st.text(max_size=12)))
def test_every_value_is_used_off_or_reported(metadata: dict[str, str]) -> None:
    thresholds = read_thresholds(metadata, KEYS)
    if thresholds is None:
        return
    used = {*thresholds.counts, *thresholds.durations_ns, *thresholds.flags}
    assert not used & set(thresholds.unreadable)
    assert all(value > 0 for value in (*thresholds.counts.values(), *thresholds.durations_ns.values()))


def test_the_parameter_of_a_key_has_underscores() -> None:
    params = Params.of({"seen_critical": 5, "lag_critical": 7}, {"lag_critical": 9})
    presets = Presets.of(params, ("seen-critical", "lag-critical", "subjects"))
    assert presets == Presets(given={"lag-critical": 9}, defaults={"seen-critical": 5})
