"""The evidence of one run, by kind: what is there, and for what is not there, why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend

Evidence = SnapshotSeries | Trend | Servers | Accounts | ConnectedServer | Gaps

KINDS: tuple[type[Evidence], ...] = (SnapshotSeries, Trend, Servers, Accounts, ConnectedServer, Gaps)
"""Every kind of evidence that a check may ask for in its signature."""


class EvidenceSet:
    """At most one value per kind of evidence, and for each absent kind the gap that explains it."""

    def __init__(self, present: Mapping[type[Evidence], Evidence], absent: Mapping[type[Evidence], Gap]) -> None:
        self._present = dict(present)
        self._absent = dict(absent)

    def get(self, kind: type[Evidence]) -> Evidence | None:
        """The evidence of that kind, or None."""
        return self._present.get(kind)

    def why_absent(self, kind: type[Evidence]) -> Gap:
        """Why there is no evidence of that kind."""
        return self._absent[kind]

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Everything that was not seen: requested gaps, and kinds of evidence that were not offered."""
        return self.gaps_for(KINDS)

    def gaps_for(self, kinds: Iterable[type[Evidence]]) -> tuple[Gap, ...]:
        """Requested gaps, and those of `kinds` that were not offered: nobody misses what no rule asks for."""
        requested = self._present.get(Gaps)
        listed = requested.gaps if isinstance(requested, Gaps) else ()
        wanted = set(kinds)
        return tuple(dict.fromkeys((*listed, *(gap for kind, gap in self._absent.items() if kind in wanted))))
