"""Log lines of several servers on one time axis: the correction of each server's clock, and the rate of each rule."""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import heappop, heappush

import msgspec

from jsdoctor.model.clock import Clocks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity
from jsdoctor.model.log import MINUTE_US, Exemplar, LogEvidence, LogTime
from jsdoctor.model.picture import ChartSeries, Line
from jsdoctor.model.report import Report
from jsdoctor.model.wording import span


class Correction(msgspec.Struct, frozen=True):
    """`ahead_us` is how far a clock is ahead of the axis, `bound_us` how far that may be wrong to either side.

    `bound_us` None: the clock was compared with no other, so nothing is corrected.
    """

    ahead_us: int = 0
    bound_us: int | None = None
    words: str = ""


UNKNOWN = Correction(words="clock not compared")


class Axis:
    """Corrections by server. The axis is the clock that most other clocks were compared with."""

    def __init__(self, evidence: EvidenceSet) -> None:
        self._known = _from_logs(evidence)
        clocks = evidence.get(Clocks)
        if not self._known and clocks is not None:
            for clock in clocks.servers:
                middle, bound = clock.offset.middle_ns // 1000, -(-clock.offset.bound_ns // 1000)
                self._known[clock.name] = Correction(middle, bound, _correction_text(middle, bound, "this machine"))

    def of(self, server: str) -> Correction:
        """The correction of that server's times."""
        return self._known.get(server, UNKNOWN)

    @property
    def compared(self) -> bool:
        """Whether any clock was compared with another."""
        return bool(self._known)


def _from_logs(evidence: EvidenceSet) -> dict[str, Correction]:
    """Corrections against the server that shares events with most others, with the least sum of bounds (Dijkstra)."""
    logs = evidence.get(LogEvidence)
    if logs is None or not logs.offsets:
        return {}
    pairs: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for pair in logs.offsets:
        pairs[pair.server].append((pair.uncertainty_us, pair.other, pair.offset_us))
        pairs[pair.other].append((pair.uncertainty_us, pair.server, -pair.offset_us))
    zoned = {server.name for server in logs.servers if server.first is not None and server.first.zoned}
    first = min(pairs, key=lambda name: (name not in zoned, -len({other for _, other, _ in pairs[name]}), name))
    known: dict[str, Correction] = {}
    waiting = [(0, first, 0)]
    while waiting:
        bound, name, ahead = heappop(waiting)
        if name in known:
            continue
        words = _correction_text(ahead, bound, first) if known else "reference clock of the axis"
        known[name] = Correction(ahead, bound, words)
        for more, other, offset in pairs[name]:
            heappush(waiting, (bound + more, other, ahead + offset))
    return known


def _correction_text(ahead_us: int, bound_us: int, against: str) -> str:
    sign = "-" if ahead_us < 0 else "+"
    return f"clock {sign}{span(abs(ahead_us) * 1000)} ± {span(bound_us * 1000)} against {against}, corrected"


_LINES_KEPT = 3
_TEXT_KEPT = 400


class Signs:
    """Signatures by name. A signature has a severity where its rule found something."""

    def __init__(self, report: Report) -> None:
        worst: dict[str, Severity] = {}
        for result in report.failures():
            known = worst.get(result.rule.code, result.severity)
            worst[result.rule.code] = max(known, result.severity, key=lambda severity: severity.rank)
        self._worst = worst
        self._codes = {sign.name: verdict.rule.code for verdict in report.verdicts for sign in verdict.rule.signatures}

    def code(self, signature: str) -> str:
        """The rule of that signature; empty where that rule was not selected."""
        return self._codes.get(signature, "")

    def severity(self, signature: str) -> Severity | None:
        """The worst finding of its rule, or None."""
        return self._worst.get(self.code(signature))


def words(signature: str) -> str:
    """A signature's name as words, without the `@` of one that belongs to no rule."""
    return signature.removeprefix("@").replace("-", " ")


def lines(exemplars: tuple[Exemplar, ...]) -> tuple[Line, ...]:
    """The first few lines, each cut to a maximum length."""
    return tuple(
        Line(exemplar.file, exemplar.line, exemplar.offset, exemplar.text[:_TEXT_KEPT])
        for exemplar in exemplars[:_LINES_KEPT]
    )


_MAX_SERIES = 6
_MAX_BINS = 180


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
    chosen = sorted(totals, key=lambda name: (signs.severity(name) is None, -totals[name], name))[:_MAX_SERIES]
    spans: dict[str, list[tuple[int, int, int]]] = {name: [] for name in chosen}
    for occurrence in logs.found:
        if occurrence.signature in spans:
            ahead = axis.of(occurrence.logged_by).ahead_us
            spans[occurrence.signature] += [
                (first - ahead, last - ahead, count)
                for first, last, count in occurrence.histogram.spans()
                if LogTime(first).dated
            ]
    everything = [span for line_spans in spans.values() for span in line_spans]
    if not everything:
        return ()
    begin = min(span[0] for span in everything) // MINUTE_US * MINUTE_US
    width = -(-(max(span[1] for span in everything) - begin) // _MAX_BINS // MINUTE_US) * MINUTE_US or MINUTE_US
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
