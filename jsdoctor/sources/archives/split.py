"""Cuts files into parts and packs parts into bins of equal work."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import msgspec

from jsdoctor.model.log_scan import Part

PART_BYTES = 64 << 20
"""Size in bytes of the ranges into which plain text is cut."""


def split(files: Sequence[Part], size: int = PART_BYTES) -> list[Part]:
    """Plain files are cut into ranges of `size` bytes; compressed files and archives stay whole."""
    parts = []
    for file in files:
        if file.codec or file.problem or file.end - file.start <= size:
            parts.append(file)
            continue
        for start in range(file.start, file.end, size):
            end = min(start + size, file.end)
            parts.append(msgspec.structs.replace(file, start=start, end=end, weight=end - start))
    return parts


def bins(parts: Sequence[Part], count: int) -> list[list[Part]]:
    """At most `count` bins of about the same weight, none empty; the same parts always give the same bins.

    The heaviest comes first, as bins are read in this order: a large compressed file is always one part, and must not
    be the last to begin.
    """
    filled: list[list[Part]] = [[] for _ in range(max(1, min(count, len(parts))))]
    loads = [(0, number) for number in range(len(filled))]
    for part in sorted(parts, key=lambda part: (-part.weight, part.name, part.start)):
        load, number = heapq.heappop(loads)
        filled[number].append(part)
        heapq.heappush(loads, (load + part.weight + 1, number))
    heavy_first = sorted(filter(None, filled), key=lambda chosen: -sum(part.weight for part in chosen))
    return [sorted(chosen, key=lambda part: (part.name, part.start)) for chosen in heavy_first]


def longest_packed(parts: Sequence[Part], workers: int) -> Part | None:
    """The compressed file that alone is more than the share of a worker, so that it decides how long a run takes."""
    packed = max((part for part in parts if part.codec), key=lambda part: part.weight, default=None)
    total = sum(part.weight for part in parts)
    return packed if packed is not None and workers > 1 and packed.weight * workers > total else None
