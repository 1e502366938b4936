"""Finds equal digests among millions, in four bytes of memory for each beside the digests themselves."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

_BUCKETS = 256
_SHIFT = 56


def equal_digests(digests: array[int]) -> Iterator[tuple[int, int]]:
    """Places of equal digests, each with the place of the one before it; in no certain order. 0 is no digest.

    One dictionary of ten million digests takes a gigabyte; so their places are sorted by the first byte into 256 heaps,
    and one dictionary after the other holds what is in a heap.
    """
    heaps = [array("I") for _ in range(_BUCKETS)]
    for place, digest in enumerate(digests):
        if digest:
            heaps[digest >> _SHIFT].append(place)
    for number, heap in enumerate(heaps):
        heaps[number] = array("I")
        seen: dict[int, int] = {}
        for place in heap:
            digest = digests[place]
            before = seen.get(digest)
            if before is not None:
                yield before, place
            seen[digest] = place
