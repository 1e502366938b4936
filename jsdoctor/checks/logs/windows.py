"""The most lines within a window of time, counted in one pass however many lines and subjects there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from jsdoctor.model.log import Occurrence


def most_within(
    found: Iterable[Occurrence], window_us: int, group: Callable[[Occurrence], str] = lambda _: "all"
) -> int:
    """The most lines of one group in any window that begins with a line of any of them; those of group "" do not count.

    An upper bound, as `Occurrence.between`: a bucket counts where it touches the window.
    """
    buckets = [(*span, group(one)) for one in found for span in one.histogram.spans()]
    starts = sorted({first for first, _, _, _ in buckets})
    entering = sorted((first, name, count) for first, _, count, name in buckets if name)
    leaving = sorted((last, name, count) for _, last, count, name in buckets if name)
    counts: dict[str, int] = defaultdict(int)
    most = entered = left = 0
    for start in starts:
        grown = set()
        while entered < len(entering) and entering[entered][0] < start + window_us:
            _, name, count = entering[entered]
            counts[name] += count
            grown.add(name)
            entered += 1
        while left < len(leaving) and leaving[left][0] < start:
            _, name, count = leaving[left]
            counts[name] -= count
            left += 1
        most = max([most, *(counts[name] for name in grown)])
    return most
