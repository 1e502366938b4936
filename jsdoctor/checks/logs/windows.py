"""The most lines within a window of time, counted in one pass however many lines and subjects there are."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from operator import itemgetter

from jsdoctor.model.log import Occurrence

_FIRST, _LAST, _COUNT = itemgetter(0), itemgetter(1), itemgetter(2)


def most_within(
    occurrences: Iterable[Occurrence], window_us: int, group: Callable[[Occurrence], str] | None = None
) -> int:
    """The most lines of one group in any window that begins with a line of any of them; those of group "" do not count.

    Without `group` all are one. An upper bound, as `Occurrence.between`: a bucket counts where it touches the window.
    """
    if group is None:
        return _most_of_all([span for occurrence in occurrences for span in occurrence.histogram.spans()], window_us)
    buckets = [
        (*span, name)
        for occurrence, name in [(occurrence, group(occurrence)) for occurrence in occurrences]
        for span in occurrence.histogram.spans()
    ]
    starts = sorted({first for first, _, _, _ in buckets})
    named = [bucket for bucket in buckets if bucket[3]]
    entering, leaving = sorted(named, key=_FIRST), sorted(named, key=_LAST)
    counts: dict[str, int] = defaultdict(int)
    most = entered = left = 0
    for start in starts:
        grown = set()
        while entered < len(entering) and entering[entered][0] < start + window_us:
            _, _, count, name = entering[entered]
            counts[name] += count
            grown.add(name)
            entered += 1
        while left < len(leaving) and leaving[left][1] < start:
            _, _, count, name = leaving[left]
            counts[name] -= count
            left += 1
        most = max([most, *(counts[name] for name in grown)])
    return most


def _most_of_all(spans: Sequence[tuple[int, int, int]], window_us: int) -> int:
    """What has entered before the end of each window, less what has left before its beginning."""
    entering, leaving = sorted(spans, key=_FIRST), sorted(spans, key=_LAST)
    firsts, lasts = list(map(_FIRST, entering)), list(map(_LAST, leaving))
    entered = list(accumulate(map(_COUNT, entering), initial=0))
    left = list(accumulate(map(_COUNT, leaving), initial=0))
    ends = map(bisect_left, repeat(firsts), [first + window_us for first in firsts])
    begins = map(bisect_left, repeat(lasts), firsts)
    return max((entered[end] - left[begin] for end, begin in zip(ends, begins, strict=True)), default=0)
