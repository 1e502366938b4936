"""The evidence of one run, by kind, and the reason for each kind that is absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.clock import Clocks, NtpTime
from jsdoctor.model.connections import Connections
from jsdoctor.model.defect import KnownDefects
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.history import History
from jsdoctor.model.host import HostFacts
from jsdoctor.model.kubernetes import KubernetesFacts
from jsdoctor.model.links import Links
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests, RunningConfigurations
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.server_past import ServerPast
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.suppression import Suppressions
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import Trend

Evidence = (
    SnapshotSeries
    | Trend
    | AckTimes
    | NearSubjects
    | History
    | ServerPast
    | Servers
    | ServerTrend
    | Accounts
    | ConnectedServer
    | RaftGroups
    | Connections
    | Links
    | Topology
    | AccountClaims
    | Clocks
    | NtpTime
    | StoredMessages
    | LogEvidence
    | Manifests
    | PacketEvidence
    | HostFacts
    | KubernetesFacts
    | RunningConfigurations
    | KnownDefects
    | Suppressions
    | Gaps
)

KINDS: tuple[type[Evidence], ...] = get_args(Evidence)
"""Every kind of evidence that a check may request in its signature."""


class EvidenceSet:
    """At most one value per kind of evidence, and for each absent kind the gap that explains it.

    `partial` are the same values for checks: reading a field without evidence raises an error (`model.partial`).
    """

    def __init__(
        self,
        present: Mapping[type[Evidence], Evidence],
        absent: Mapping[type[Evidence], Gap],
        partial: Mapping[type[Evidence], Evidence] | None = None,
    ) -> None:
        self._present = dict(present)
        self._absent = dict(absent)
        self._partial = dict(partial or {})

    def for_checks(self) -> EvidenceSet:
        """The evidence for checks: fields without evidence have no default."""
        return EvidenceSet({**self._present, **self._partial}, self._absent) if self._partial else self

    def partly_shown(self, *partial: Evidence) -> EvidenceSet:
        """The same evidence, of which checks get some kinds in part."""
        return EvidenceSet(self._present, self._absent, {**self._partial, **{type(item): item for item in partial}})

    def get(self, kind: type[Evidence]) -> Evidence | None:
        """The evidence of that kind, or None."""
        return self._present.get(kind)

    def why_absent(self, kind: type[Evidence]) -> Gap:
        """Why there is no evidence of that kind."""
        return self._absent[kind]

    def joined(self, more: Evidence, gaps: Iterable[Gap] = ()) -> EvidenceSet:
        """The same evidence with one more kind, and the gaps of that kind."""
        known = self._present.get(Gaps)
        listed = known.gaps if isinstance(known, Gaps) else ()
        present = {**self._present, type(more): more, Gaps: Gaps((*listed, *gaps))}
        absent = {kind: gap for kind, gap in self._absent.items() if kind not in present}
        return EvidenceSet(
            present, absent, {kind: item for kind, item in self._partial.items() if kind is not type(more)}
        )

    def without(self, kind: type[Evidence], why: Gap) -> EvidenceSet:
        """The same evidence without one kind, with the gap that explains it."""
        present = {known: value for known, value in self._present.items() if known is not kind}
        partial = {known: value for known, value in self._partial.items() if known is not kind}
        return EvidenceSet(present, {**self._absent, kind: why}, partial)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Everything that was not collected: requested gaps, and kinds of evidence that were not offered."""
        return self.gaps_for(KINDS)

    def gaps_for(self, kinds: Iterable[type[Evidence]]) -> tuple[Gap, ...]:
        """Requested gaps, and those of `kinds` that were not offered; kinds that no rule requests are left out."""
        requested = self._present.get(Gaps)
        listed = requested.gaps if isinstance(requested, Gaps) else ()
        wanted = set(kinds)
        return tuple(dict.fromkeys((*listed, *(gap for kind, gap in self._absent.items() if kind in wanted))))
