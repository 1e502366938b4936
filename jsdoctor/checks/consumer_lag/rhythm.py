"""Intervals at which the clients of a consumer connect, by earlier samples: batch jobs are away most of the time."""

from __future__ import annotations

from itertools import pairwise

from jsdoctor.checks.consumer_lag.progress import Key, key
from jsdoctor.model.history import History
from jsdoctor.model.trend import ConsumerHistory

_ENOUGH = 3
"""Visits that make a rhythm: two gaps between them can be compared."""


def rhythms(history: History | None) -> dict[Key, int]:
    """The longest time between two known visits of clients, in nanoseconds, for each consumer with enough of them."""
    by_consumer = (
        (key(consumer_history.last), rhythm_ns(consumer_history))
        for consumer_history in (history.consumers() if history else ())
    )
    return {name: rhythm for name, rhythm in by_consumer if rhythm is not None}


def rhythm_ns(history: ConsumerHistory) -> int | None:
    """The same for one consumer; None below three visits. A visit is a delivery or an acknowledgement."""
    pairs = [pair for reading in history.readings for pair in (reading.delivered, reading.ack_floor)]
    visits = sorted({pair.last_active for pair in pairs if pair.last_active})
    if len(visits) < _ENOUGH:
        return None
    return max(int((after - before).total_seconds() * 1e9) for before, after in pairwise(visits))
