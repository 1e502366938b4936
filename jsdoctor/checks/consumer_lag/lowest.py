"""The lowest value of a counter of consumers over all samples: what was never below it did not only pass by."""

from __future__ import annotations

from collections.abc import Callable

from jsdoctor.model.finding import Subject
from jsdoctor.model.snapshot import Consumer, SnapshotSeries


def lowest_values(
    snapshots: SnapshotSeries, counter: Callable[[Consumer], int], wanted: Callable[[Consumer], bool]
) -> dict[Subject, int]:
    """By the subject of the consumer, from the readings of its leader: of those that are `wanted` in the last sample,
    as most rules need few of many consumers.
    """
    lowest = {c.subject: counter(c) for _, c in snapshots.last.led_consumers() if wanted(c)}
    for snapshot in snapshots.snapshots[:-1] if lowest else ():
        for _, consumer in snapshot.led_consumers():
            if consumer.subject in lowest:
                lowest[consumer.subject] = min(lowest[consumer.subject], counter(consumer))
    return lowest
