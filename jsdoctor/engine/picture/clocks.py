"""One time axis for several clocks: what must be taken off each server's times, and how surely that is known."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

import msgspec

from jsdoctor.model.clock import Clocks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.log import LogEvidence
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
                self._known[clock.name] = Correction(middle, bound, _words(middle, bound, "this machine"))

    def of(self, server: str) -> Correction:
        """The correction of that server's times."""
        return self._known.get(server, UNKNOWN)

    @property
    def compared(self) -> bool:
        """Whether any clock was compared with another."""
        return bool(self._known)


def _from_logs(evidence: EvidenceSet) -> dict[str, Correction]:
    """From the server that shares events with most others on, along the comparisons with the least sum of bounds."""
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
        words = _words(ahead, bound, first) if known else "reference clock of the axis"
        known[name] = Correction(ahead, bound, words)
        for more, other, offset in pairs[name]:
            heappush(waiting, (bound + more, other, ahead + offset))
    return known


def _words(ahead_us: int, bound_us: int, against: str) -> str:
    sign = "-" if ahead_us < 0 else "+"
    return f"clock {sign}{span(abs(ahead_us) * 1000)} ± {span(bound_us * 1000)} against {against}, corrected"
