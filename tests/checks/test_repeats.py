"""Which duplicate window would have caught repeated ids, and which windows a stream's messages passed."""

from typing import Any

import pytest

from jsdoctor.checks.dedupe_window.repeats import STEPS_NS, catching_window_ns, scanned
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


def test_beyond_the_longest_step_the_wanted_length_counts() -> None:
    assert window_s(600_000, max_age=0)[0] == pytest.approx(900_000, rel=0.01)


def test_steps_are_lengths_that_people_give() -> None:
    assert [step // SECOND_NS for step in STEPS_NS] == [
        *(1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200),
        *(86_400, 172_800, 604_800),
    ]
