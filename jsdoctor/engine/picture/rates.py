"""How many lines of each log signature there were over time."""

from __future__ import annotations

from collections import Counter

from jsdoctor.engine.picture.clocks import Axis
from jsdoctor.engine.picture.signs import Signs, words
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.log import LogEvidence, LogTime
from jsdoctor.model.log_line import MINUTE_US
from jsdoctor.model.picture import ChartSeries
from jsdoctor.model.report import Report

_MAX = 6
_BINS = 180


def rates(report: Report, evidence: EvidenceSet) -> tuple[ChartSeries, ...]:
    """Lines per minute of the signatures of rules that found something, then of the most frequent ones."""
    logs = evidence.get(LogEvidence)
    if logs is None:
        return ()
    signs, axis = Signs(report), Axis(evidence)
    totals: Counter[str] = Counter()
    for occurrence in logs.found:
        if occurrence.dated:
            totals[occurrence.signature] += occurrence.dated
    chosen = sorted(totals, key=lambda name: (signs.severity(name) is None, -totals[name], name))[:_MAX]
    spans: dict[str, list[tuple[int, int, int]]] = {name: [] for name in chosen}
    for occurrence in logs.found:
        if occurrence.signature in spans:
            ahead = axis.of(occurrence.logged_by).ahead_us
            spans[occurrence.signature] += [
                (first - ahead, last - ahead, count)
                for first, last, count in occurrence.histogram.spans()
                if LogTime(first).dated
            ]
    everything = [span for candidate in spans.values() for span in candidate]
    if not everything:
        return ()
    begin = min(span[0] for span in everything) // MINUTE_US * MINUTE_US
    width = -(-(max(span[1] for span in everything) - begin) // _BINS // MINUTE_US) * MINUTE_US or MINUTE_US
    bins = (max(span[1] for span in everything) - begin) // width + 1
    return tuple(_series(words(name), span, begin, width, bins) for name, span in spans.items())


def _series(name: str, spans: list[tuple[int, int, int]], begin: int, width: int, bins: int) -> ChartSeries:
    """Lines per minute by bin, empty ones included. A span that is wider than a bin counts where it begins."""
    counts: Counter[int] = Counter()
    for first, _, count in spans:
        counts[(first - begin) // width] += count
    minutes = width / MINUTE_US
    points = tuple((begin + number * width, counts[number] / minutes) for number in range(bins))
    return ChartSeries(name=name, unit="per_minute", points=points)
