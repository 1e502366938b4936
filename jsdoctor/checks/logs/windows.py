"""The most lines within a window of time, counted in one pass however many lines and subjects there are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, repeat
from operator import sub

from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import Occurrence

_ALL = "all"


def most_within(
    occurrences: Iterable[Occurrence], window_us: int, group: Callable[[Occurrence], str] | None = None
) -> int:
    """The most lines of one group in any window that begins with a line of any of them; those of group "" do not count.

    Without `group` all are one. An upper bound, as `Occurrence.between`: a bucket counts where it touches the window.
    """
    groups: dict[str, list[Histogram]] = defaultdict(list)
    for occurrence in occurrences:
        groups[group(occurrence) if group else _ALL].append(occurrence.histogram)
    starts = sorted(set(_firsts([histogram for histograms in groups.values() for histogram in histograms])))
    most = 0
    for name, histograms in groups.items():
        if name and _may_exceed(most, histograms, window_us):
            most = _most_of(histograms, starts, window_us, most)
    return most


def are_within(lines: int, occurrences: Sequence[Occurrence], window_us: int) -> bool:
    """Whether at least so many lines are in any such window. Where there are far more, this is seen at once."""
    firsts = sorted(_firsts([occurrence.histogram for occurrence in occurrences]))
    dense = any(last - first < window_us for first, last in zip(firsts, firsts[max(0, lines - 1) :], strict=False))
    return dense or most_within(occurrences, window_us) >= lines


def _firsts(histograms: Iterable[Histogram]) -> Iterable[int]:
    return chain.from_iterable([histogram.firsts() for histogram in histograms])


def _may_exceed(most: int, histograms: Sequence[Histogram], window_us: int) -> bool:
    """Whether a window may have more lines. At least so many buckets as have these lines have to touch it."""
    firsts = sorted(_firsts(histograms))
    lines = max([max(histogram.counts(), default=1) for histogram in histograms])
    longest = max([max(map(sub, histogram.lasts(), histogram.firsts()), default=0) for histogram in histograms])
    return any(last - first < window_us + longest for first, last in zip(firsts, firsts[most // lines :], strict=False))


def _most_of(histograms: Sequence[Histogram], starts: Sequence[int], window_us: int, most: int) -> int:
    """What has entered before the end of a window, less what has left before its beginning; if it is more than `most`.

    The window with most lines is one of those that begin as late as some bucket allows that it still touches. What a
    window would have that began at the end of that bucket is no less, and is known sooner.
    """
    counts = list(chain.from_iterable([histogram.counts() for histogram in histograms]))
    firsts, entered = _running(_firsts(histograms), counts)
    lasts, left = _running(chain.from_iterable([histogram.lasts() for histogram in histograms]), counts)
    inside = map(bisect_left, repeat(firsts), [last + window_us for last in lasts])
    for last, number, gone in zip(lasts, inside, left, strict=False):
        if entered[number] - gone > most:
            begin = starts[bisect_right(starts, last) - 1]
            most = max(most, entered[bisect_left(firsts, begin + window_us)] - gone)
    return most


def _running(times: Iterable[int], counts: Sequence[int]) -> tuple[list[int], list[int]]:
    """The times in order, and of each how many lines there were before it; and how many lines there are."""
    given = list(times)
    ordered = sorted(given)
    if given != ordered:
        lines: dict[int, int] = defaultdict(int)
        for us, count in zip(given, counts, strict=True):
            lines[us] += count
        ordered = sorted(lines)
        counts = list(map(lines.__getitem__, ordered))
    return ordered, list(accumulate(counts, initial=0))
