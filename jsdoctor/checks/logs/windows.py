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
    firsts = [histogram.firsts() for histograms in groups.values() for histogram in histograms]
    starts = sorted(set(chain.from_iterable(firsts)))
    return max((_most_of(histograms, starts, window_us) for name, histograms in groups.items() if name), default=0)


def _most_of(histograms: Sequence[Histogram], starts: Sequence[int], window_us: int) -> int:
    """What has entered before the end of a window, less what has left before its beginning.

    The window with most lines is one of those that begin as late as some bucket allows that it still touches.
    """
    counts = list(chain.from_iterable([histogram.counts() for histogram in histograms]))
    firsts, entered = _running(chain.from_iterable([histogram.firsts() for histogram in histograms]), counts)
    lasts, left = _running(chain.from_iterable([histogram.lasts() for histogram in histograms]), counts)
    ends = [starts[number - 1] + window_us for number in map(bisect_right, repeat(starts), lasts)]
    inside = map(bisect_left, repeat(firsts), ends)
    return max(map(sub, map(entered.__getitem__, inside), left), default=0)


def _running(times: Iterable[int], counts: Iterable[int]) -> tuple[list[int], list[int]]:
    """The times in order, and of each how many lines there were before it; and how many lines there are."""
    lines: dict[int, int] = defaultdict(int)
    for us, count in zip(times, counts, strict=True):
        lines[us] += count
    ordered = sorted(lines)
    return ordered, list(accumulate(map(lines.__getitem__, ordered), initial=0))
