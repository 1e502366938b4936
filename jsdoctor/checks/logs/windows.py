"""The most lines within a window of time, counted in one pass however many lines and subjects there are."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat

from jsdoctor.model.log import Occurrence


def most_within(found: Iterable[Occurrence], window_us: int, group: Callable[[Occurrence], str] | None = None) -> int:
    """The most lines of one group in any window that begins with a line of any of them; those of group "" do not count.

    Without `group` all are one. An upper bound, as `Occurrence.between`: a bucket counts where it touches the window.
    """
    if group is None:
        return _most_of_all([span for one in found for span in one.histogram.spans()], window_us)
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


def _most_of_all(spans: Sequence[tuple[int, int, int]], window_us: int) -> int:
    """What has entered before the end of each window, less what has left before its beginning."""
    entering = sorted((first, count) for first, _, count in spans)
    leaving = sorted((last, count) for _, last, count in spans)
    firsts, lasts = [first for first, _ in entering], [last for last, _ in leaving]
    entered = list(accumulate((count for _, count in entering), initial=0))
    left = list(accumulate((count for _, count in leaving), initial=0))
    ends = map(bisect_left, repeat(firsts), [first + window_us for first in firsts])
    begins = map(bisect_left, repeat(lasts), firsts)
    return max((entered[end] - left[begin] for end, begin in zip(ends, begins, strict=True)), default=0)
