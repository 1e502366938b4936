"""Which duplicate window would have caught repeated ids, and which windows a stream's messages passed."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.checks.dedupe_window.repeats import STEPS_NS, catching_window_ns, examples, scanned
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from tests.support.evidence import evidence_of

SECOND_NS = 1_000_000_000


def scan(ages: list[int], *edits: dict[str, Any], stream: str = "ORDERS") -> dict[str, Any]:
    stored = {"stored": stream, "ages": [f"{age}s" for age in ages], "ids": ["a"] * len(ages)}
    return {"base": "three-nodes-2.15.1-account", "edit": [stored, *edits]}


def read(case: dict[str, Any]) -> tuple[StoredMessages, SnapshotSeries]:
    evidence = evidence_of(case)
    stored, snapshots = evidence.get(StoredMessages), evidence.get(SnapshotSeries)
    assert stored is not None
    assert snapshots is not None
    return stored, snapshots


def window_s(distance_s: int, longest_s: int = 10_000_000, **config: int) -> tuple[float, int]:
    """The window for two messages with one id, so far apart, and how many repeats it catches."""
    edit: dict[str, Any] = {"stream": "APP/ORDERS", "set": {f"config.{name}": value for name, value in config.items()}}
    (scanned_stream,) = scanned(*read(scan([distance_s + 5, 5], *([edit] if config else []))))
    window, caught = catching_window_ns(scanned_stream, longest_s * SECOND_NS)
    return window / SECOND_NS, caught


@pytest.mark.parametrize(
    ("distance_s", "window"),
    [
        *[(1, 2), (3, 5), (4, 10), (15, 30), (25, 60), (40, 120), (50, 120), (100, 300), (300, 600), (500, 900)],
        *[(1_000, 1_800), (1_500, 3_600), (3_000, 7_200), (5_000, 21_600), (20_000, 43_200), (40_000, 86_400)],
        (80_000, 172_800),
    ],
)
def test_half_as_much_again_and_round(distance_s: int, window: int) -> None:
    assert window_s(distance_s) == (window, 1)


def windows_of_all(intake_s: int, cache_s: int) -> tuple[int, ...]:
    """Those that the messages of a stream passed that copies both, in seconds."""
    windows = {"INTAKE": intake_s, "CACHE": cache_s}
    edits = [
        {"stream": f"APP/{name}", "set": {"config.duplicate_window": window * SECOND_NS}}
        for name, window in windows.items()
    ]
    (scanned_stream,) = scanned(*read(scan([20, 10], *edits, stream="ALL")))
    return (*sorted(scanned_stream.windows), scanned_stream.shortest_window_ns or 0)


def test_the_shortest_window_of_the_origins_is_that_of_a_copy() -> None:
    assert windows_of_all(60, 120) == (60 * SECOND_NS, 120 * SECOND_NS, 60 * SECOND_NS)
    assert windows_of_all(0, 120) == (120 * SECOND_NS, 120 * SECOND_NS)


def test_a_window_is_never_longer_than_max_age() -> None:
    assert window_s(100, max_age=200 * SECOND_NS) == (200, 1)
    assert window_s(100, max_age=1) == (1e-9, 0)
    assert window_s(100, max_age=0) == (300, 1)


def test_beyond_the_longest_step_the_wanted_length_counts() -> None:
    assert window_s(600_000, max_age=0)[0] == pytest.approx(900_000, rel=0.01)


def test_steps_are_lengths_that_people_give() -> None:
    assert [step // SECOND_NS for step in STEPS_NS] == [
        *(1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200),
        *(86_400, 172_800, 604_800),
    ]


def test_three_examples_are_shown() -> None:
    stored, _ = read(scan([60, 50, 40, 30, 20]))
    repeats = list(stored.streams[0].repeats.kept)
    assert len(repeats) >= 3
    assert examples(repeats[:3]).count("repeats") == 3
    assert not examples(repeats[:3]).endswith("…")
    assert examples([*repeats[:3], repeats[0]]).endswith(" …")
    assert examples([*repeats[:3], repeats[0]]).count("repeats") == 3


def test_windows_of_a_stream_and_of_its_origin() -> None:
    minute = {"set": {"config.duplicate_window": 60 * SECOND_NS}}
    (own,) = scanned(*read(scan([60, 50], {"stream": "APP/ORDERS", **minute})))
    assert own.windows == (60 * SECOND_NS,)
    assert own.shortest_window_ns == 60 * SECOND_NS
    assert not own.is_copy
    (none,) = scanned(*read(scan([60, 50], {"stream": "APP/ORDERS", "set": {"config.duplicate_window": 0}})))
    assert none.windows == ()
    assert none.shortest_window_ns is None
    (least,) = scanned(*read(scan([60, 50], {"stream": "APP/ORDERS", "set": {"config.duplicate_window": 1}})))
    assert least.windows == (1,)
    (copy,) = scanned(*read(scan([60, 50], {"stream": "APP/ORDERS", **minute}, stream="COPY")))
    assert copy.is_copy
    assert copy.windows == (60 * SECOND_NS,)
