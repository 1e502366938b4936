"""Whether what a diagnosis is about was seen at all, and from where it can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.engine.evidence_sources import used_sources
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.evidence_kinds import EvidenceSource
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream

_KINDS = ("stream", "consumer", "server", "account", "connection", "bundle")


class Visibility:
    """The streams and consumers that are meant, as the last sample showed them."""

    def __init__(self, evidence: EvidenceSet, narrowing: Narrowing) -> None:
        self.narrowing = narrowing
        series = evidence.get(SnapshotSeries)
        self._snapshot: ClusterSnapshot | None = series.last if isinstance(series, SnapshotSeries) else None
        self._gaps = [gap for gap in evidence.gaps_for(()) if gap.requested]
        self._streams = [stream for stream in self._all() if stream.name == narrowing.stream]
        self.ways = used_sources(evidence) | (
            {EvidenceSource.EXPECTED} if narrowing.expected_seq is not None else frozenset()
        )
        self.accounts = frozenset(stream.account for stream in self._streams)
        self.notes = tuple(self._notes())

    def unseen(self, judged: Sequence[Result]) -> Gap | None:
        """Why a rule without findings is not ruled out, or None. `judged`: what the rule found healthy."""
        if not self.narrowing.stream:
            return next((gap for gap in self._gaps if gap.kind in _KINDS), None)
        if judged:
            return None
        if self._snapshot is None:
            return self._gap("no stream was looked at", "add --context NAME or -s URL")
        if self.notes:
            return self._gap(self.notes[0], "see that its servers run, and look again with a login that sees it")
        return None

    def _all(self) -> Sequence[Stream]:
        return self._snapshot.streams if self._snapshot else ()

    def _gap(self, reason: str, how_to_get: str) -> Gap:
        return Gap("stream", Subject(kind="stream", name=self.narrowing.stream), reason, how_to_get)

    def _notes(self) -> Iterator[str]:
        """What is wrong with how they were seen."""
        stream, consumer = self.narrowing.stream, self.narrowing.consumer
        if not stream or self._snapshot is None:
            return
        silent = [asset for asset in self._snapshot.silent if stream in (asset.subject.name, asset.subject.stream)]
        if not self._streams:
            why = f": {silent[0].reason}" if silent and silent[0].reason else ""
            yield f"stream {stream} is there, but did not respond{why}" if silent else f"no stream {stream} was seen"
            return
        if not any(stream.from_leader for stream in self._streams):
            yield f"stream {stream} was not seen from a leader, so its state says nothing"
            return
        consumers = [candidate for s in self._streams for candidate in s.consumers if candidate.name == consumer]
        if consumer and not consumers:
            all_seen = all(stream.consumers_seen for stream in self._streams)
            yield f"no consumer {consumer} was seen on {stream}" + ("" if all_seen else "; not all of them were seen")
        elif consumer and not any(consumer.from_leader for consumer in consumers):
            yield f"consumer {consumer} was not seen from its leader, so its state says nothing"
