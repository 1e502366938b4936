"""The lowest value of a counter of each consumer over all samples: what was never below it did not only pass by."""

from __future__ import annotations

from collections.abc import Callable

from jsdoctor.model.finding import Subject
from jsdoctor.model.snapshot import Consumer, SnapshotSeries


def lowest_values(snapshots: SnapshotSeries, counter: Callable[[Consumer], int]) -> dict[Subject, int]:
    """By the subject of the consumer, from the readings of its leader."""
    lowest: dict[Subject, int] = {}
    for snapshot in snapshots.snapshots:
        for _, consumer in snapshot.led_consumers():
            value, subject = counter(consumer), consumer.subject
            lowest[subject] = min(value, lowest.get(subject, value))
    return lowest
