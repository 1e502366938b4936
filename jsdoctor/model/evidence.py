"""Evidence of one run: what every kind of it says about itself, and one value per kind, or why there is none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import ClassVar, NamedTuple, Self, TypeVar, cast

import msgspec

from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap


class EvidenceSource(StrEnum):
    """A source of evidence, the cheapest first."""

    LIVE = "live"
    TREND = "trend"
    SYSTEM = "system"
    SCAN = "scan"
    EXPECTED = "expected"
    ACKS = "acks"
    LOGS = "logs"
    HISTORY = "history"
    PACKETS = "packets"
    NTP = "ntp"
    HOST = "host"
    KUBERNETES = "kubernetes"


class CollectionFacts(NamedTuple):
    """What is known of a collection when a kind of evidence is missing.

    `samples` is the number of samples taken, `snapshots` the number of those that contain streams. `plain`: only
    logins of plain accounts got replies.
    """

    samples: int = 0
    snapshots: int = 0
    plain: bool = False
    asked_ntp: bool = False
    scanned: bool = False


def not_offered(reason: str, how_to_get: str, kind: str = "access") -> Gap:
    """Why a kind of evidence is absent that this run did not request."""
    return Gap(kind=kind, subject=CLUSTER, reason=reason, how_to_get=how_to_get, requested=False)


NOTHING_ANSWERED = not_offered("no server responded", "see the message about the connection, and run again")
NO_SERVERS = not_offered("no server reported its own state", "use a login of the system account")
NO_ASSETS = not_offered(
    "no server reported its streams", "use a login of an account with JetStream, or of the system account"
)
NOT_REPORTED = not_offered(
    "no server was queried, or none responded",
    "run again with a login of the system account; of captured evidence, capture it again",
)
_PLAIN_ACCOUNT = not_offered(
    "this login belongs to a plain account, which cannot see servers",
    "use a login of the system account, or add --monitor http://HOST:8222 for each server",
)
_ONE_SAMPLE = not_offered("a rate needs two samples and one was taken", "run with --samples 2 or more", kind="samples")
_ONE_ANSWERED = not_offered(
    "a rate needs two samples, and only one of them got a response",
    "see what could not be seen, and run again",
    kind="samples",
)
GAPS_OF_ASSETS = frozenset({"stream", "consumer", "account", "access", "assets", "reply"})
"""The kinds of gaps that leave some streams or consumers unread."""


def too_few_samples(facts: CollectionFacts) -> Gap:
    """The gap for a rate: only one sample was taken, or only one got a response."""
    return _ONE_ANSWERED if facts.samples > 1 else _ONE_SAMPLE


class Evidence(msgspec.Struct, frozen=True):
    """A kind of evidence, which a check requests in its signature. Its class says where it comes from.

    - `source` is what collects it; `parts` are the parts of a `CollectionPlan` that do; `repeated`: in two samples.
    - `unavailable` is the gap if it is missing. `said_by`: kinds of gaps that were not requested, by which a source
      itself reports why it is missing, the strongest last.
    - `of_deployment`: it is missing for the same reason if no server responds at all, and in part if one does not.
    - `endpoints`: replies that contain it and nothing of the streams and servers of a deployment.
    - `left_out_by`: kinds of gaps that leave a part of it unread. `single`: what one sample shows in its place.
    """

    source: ClassVar[EvidenceSource | None] = None
    parts: ClassVar[tuple[str, ...]] = ()
    repeated: ClassVar[bool] = False
    unavailable: ClassVar[Gap] = NOTHING_ANSWERED
    said_by: ClassVar[tuple[str, ...]] = ()
    of_deployment: ClassVar[bool] = False
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()
    left_out_by: ClassVar[frozenset[str]] = frozenset()
    single: ClassVar[type[Evidence] | None] = None

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """Why it is missing in such a collection. A plain account cannot see servers."""
        return _PLAIN_ACCOUNT if facts.plain and cls.source is EvidenceSource.SYSTEM else cls.unavailable

    def without(self, subject: Subject) -> Self:
        """The same without what it has of one stream, consumer or server."""
        del subject
        return self

    def servers_seen(self) -> Iterator[str] | None:
        """The names of the servers of which this has a report. Streams may lie on any server, so they have none.

        None: a server that does not respond leaves no part of it unread. Logs, manifests and packets have their own.
        """
        return iter(()) if self.of_deployment else None


class Gaps(Evidence, frozen=True):
    """All requested gaps of one run, as evidence: rule JSD901 reports them."""

    gaps: tuple[Gap, ...]


Kind = TypeVar("Kind", bound=Evidence)


class ByKind(dict[type[Evidence], Evidence]):
    """At most one value per kind of evidence."""

    def of(self, kind: type[Kind]) -> Kind | None:
        """The evidence of that kind, or None."""
        return cast(Kind | None, super().get(kind))

    def put(self, value: Evidence | None) -> None:
        """Keep that value as the one of its kind; None keeps what there is."""
        if value is not None:
            self[type(value)] = value


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
        self._present = ByKind(present)
        self._present.setdefault(Gaps, Gaps(()))
        self._absent = dict(absent)
        self._partial = dict(partial or {})

    def for_checks(self) -> EvidenceSet:
        """The evidence for checks: fields without evidence have no default."""
        return EvidenceSet({**self._present, **self._partial}, self._absent) if self._partial else self

    def partly_shown(self, partial: Evidence, kind: type[Evidence] | None = None) -> EvidenceSet:
        """The same evidence; checks get `partial` in place of the whole value of its kind."""
        return EvidenceSet(self._present, self._absent, {**self._partial, kind or type(partial): partial})

    def get(self, kind: type[Kind]) -> Kind | None:
        """The evidence of that kind, or None."""
        return self._present.of(kind)

    def without_subject(self, subject: Subject, kinds: Iterable[type[Evidence]]) -> EvidenceSet:
        """The same evidence without what these kinds have of one stream, consumer or server."""
        evidence = self
        for kind in kinds:
            if (known := evidence.get(kind)) is not None and (rest := known.without(subject)) is not known:
                evidence = evidence.joined(rest)
        return evidence

    @property
    def present(self) -> Collection[Evidence]:
        """All evidence that there is."""
        return self._present.values()

    def why_absent(self, kind: type[Evidence]) -> Gap:
        """Why there is no evidence of that kind."""
        return self._absent[kind]

    def joined(self, more: Evidence, gaps: Iterable[Gap] = ()) -> EvidenceSet:
        """The same evidence with one more kind, and the gaps of that kind."""
        present = ByKind(self._present)
        present.put(more)
        present.put(Gaps((*self._requested(), *gaps)))
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
        return self.gaps_for(self._absent)

    def gaps_for(self, kinds: Iterable[type[Evidence]]) -> tuple[Gap, ...]:
        """Requested gaps, and those of `kinds` that were not offered; kinds that no rule requests are left out."""
        wanted = set(kinds)
        not_there = (gap for kind, gap in self._absent.items() if kind in wanted)
        return tuple(dict.fromkeys((*self._requested(), *not_there)))

    def _requested(self) -> tuple[Gap, ...]:
        gaps = self.get(Gaps)
        return gaps.gaps if gaps else ()
