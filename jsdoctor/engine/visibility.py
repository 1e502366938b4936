"""Whether what a diagnosis is about was seen at all, and from where it can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.engine.evidence_sources import used_sources
from jsdoctor.engine.relations import stream_of
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.evidence import EvidenceSet, EvidenceSource
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Rule
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream, UnresponsiveAsset
from jsdoctor.model.symptom import Symptom
from jsdoctor.model.wording import counted

_CONSUMERS = "consumer_lag"
_CONSUMER = "consumer"
_KINDS = ("stream", "consumer", "server", "account", "connection", "bundle")


class Visibility:
    """The streams and consumers that are meant, as the last sample showed them."""

    def __init__(self, evidence: EvidenceSet, narrowing: Narrowing) -> None:
        self.narrowing = narrowing
        series = evidence.get(SnapshotSeries)
        self._snapshot: ClusterSnapshot | None = series.last if series is not None else None
        self._gaps = [gap for gap in evidence.gaps_for(()) if gap.requested]
        self._streams = [stream for stream in self._all() if stream.name == narrowing.stream]
        self.ways = used_sources(evidence) | (
            {EvidenceSource.EXPECTED} if narrowing.expected_seq is not None else frozenset()
        )
        self._anything_runs = bool(self.ways - {EvidenceSource.EXPECTED}) or any(
            known.of_deployment for known in evidence.present
        )
        self.accounts = frozenset(stream.account for stream in self._streams)
        self.notes = tuple(self._notes())

    @property
    def in_part(self) -> bool:
        """Whether some of what was requested was not seen."""
        return any(gap.kind in _KINDS for gap in self._gaps)

    def unseen(self, symptom: Symptom, rule: Rule, judged: Sequence[Result]) -> Gap | None:
        """Why a rule without findings is not ruled out, or None. `judged`: what the rule found healthy.

        Gaps elsewhere do not count then: `check` passes the rule, and reports them beside it.
        """
        if not judged and (gap := self._nothing_seen() or self._hidden_consumers(rule)):
            return gap
        gap = next((gap for gap in self._gaps if gap.kind in _KINDS), None)
        if not judged and not self.narrowing.stream and gap:
            return gap
        if judged or not self.narrowing.stream:
            return self._hidden_consumers(rule) if _of_consumers(symptom) and _only_streams(judged) else None
        if self._snapshot is None:
            return self._gap("no stream was checked", "add --context NAME or -s URL")
        if self.notes:
            return self._gap(self.notes[0], "see that its servers run, and look again with a login that sees it")
        return None

    def _nothing_seen(self) -> Gap | None:
        """A file that declares something shows nothing of what runs."""
        if self._anything_runs:
            return None
        return self._gap("no running deployment was checked", "add --context NAME or -s URL")

    def _hidden_consumers(self, rule: Rule) -> Gap | None:
        """A page of a stream has the number of its consumers, not the consumers that the rule would judge."""
        if self.narrowing.consumer or not (rule.failure_mode == _CONSUMERS or _CONSUMER in rule.title.lower()):
            return None
        for stream in self._streams if self.narrowing.stream else self._all():
            hidden = stream.state.consumer_count - len(stream.consumers)
            if hidden > 0:
                verb = "was" if hidden == 1 else "were"
                reason = f"{counted(hidden, 'consumer')} of stream {stream.name} {verb} not seen"
                return self._gap(reason, f"give `nats consumer info {stream.name} CONSUMER` as well, or -s URL")
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
        silent = [asset for asset in self._snapshot.silent if stream_of(asset.subject).name == stream]
        if not self._streams:
            yield f"stream {stream} {_silence(silent[0])}" if silent else f"no stream {stream} was seen"
            return
        if not any(stream.from_leader for stream in self._streams):
            yield f"stream {stream} was not seen from a leader, so its state says nothing"
            return
        consumers = [candidate for s in self._streams for candidate in s.consumers if candidate.name == consumer]
        away = next(
            (asset for asset in silent if asset.subject.kind == _CONSUMER and asset.subject.name == consumer), None
        )
        if away and not consumers:
            yield f"consumer {consumer} {_silence(away)}"
        elif consumer and not consumers:
            all_seen = all(stream.consumers_seen for stream in self._streams)
            yield f"no consumer {consumer} was seen on {stream}" + ("" if all_seen else "; not all of them were seen")
        elif consumer and not any(consumer.from_leader for consumer in consumers):
            yield f"consumer {consumer} was not seen from its leader, so its state says nothing"


def _silence(asset: UnresponsiveAsset) -> str:
    return f"is there, but could not be seen: {asset.reason}"


def _of_consumers(symptom: Symptom) -> bool:
    return _CONSUMER in symptom.title.lower()


def _only_streams(judged: Sequence[Result]) -> bool:
    """A stream that is healthy says nothing about its consumers that were not seen."""
    return {result.finding.subject.kind for result in judged} == {"stream"}
