"""What a scan showed of message ids: which came more than once, how far apart, and whether with the same content."""

from __future__ import annotations

from array import array
from bisect import bisect_left

import msgspec

MAX_KEPT = 1_000
"""Number of repeats kept of a stream: this many of the closest, and of the farthest."""
MAX_DISTANCES = 1_000_000
"""The distances of so many repeats are kept; of others it is only counted that there are."""
MAX_COMPARED = 10_000
"""Maximum number of messages with repeated ids that are read whole, where contents are compared."""


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """Message `stream_seq` has the id of `before_seq`, the last one before it that has. Nanoseconds since 1970.

    `differs`: their subjects or contents are not the same; None where they were not compared.
    """

    before_seq: int
    before_ns: int
    stream_seq: int
    at_ns: int
    differs: bool | None = None

    @property
    def distance_ns(self) -> int:
        """The time between both. Where dates go back nobody knows it, and it is 0."""
        return max(self.at_ns - self.before_ns, 0)


class Distances:
    """How far apart repeats are, in nanoseconds: eight bytes for each."""

    __slots__ = ("_sorted",)

    def __init__(self, distances_ns: array[int] | None = None) -> None:
        self._sorted = array("q", sorted(distances_ns or ()))

    def __len__(self) -> int:
        return len(self._sorted)

    def below(self, length_ns: int) -> int:
        """How many are shorter than that: what a window of that length would have caught."""
        return bisect_left(self._sorted, length_ns)

    def largest_below(self, length_ns: int) -> int:
        """The longest of those that are shorter than that, 0 if none is."""
        place = self.below(length_ns)
        return self._sorted[place - 1] if place else 0

    @property
    def largest(self) -> int:
        """The longest, 0 if there is none."""
        return self._sorted[-1] if self._sorted else 0

    @property
    def smallest(self) -> int:
        """The shortest, 0 if there is none."""
        return self._sorted[0] if self._sorted else 0


class RepeatedIds(msgspec.Struct, frozen=True):
    """All messages of a stream whose id a message before them has.

    `ids` counts their different ids. `kept` has the closest and the farthest, in order of sequence.
    `distances` are of all whose content is the same or was not compared: only those can be retries. `differing` has
    the others: one id for different messages. `compared` messages were read whole.
    """

    count: int = 0
    ids: int = 0
    kept: tuple[Repeat, ...] = ()
    distances: Distances = Distances()
    differing: tuple[Repeat, ...] = ()
    differing_count: int = 0
    compared: int = 0
