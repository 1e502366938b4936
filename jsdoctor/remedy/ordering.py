"""The order of a plan: causes before their consequences, and no step before its target can accept it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Step, UnplannedFinding
from jsdoctor.model.report import Incident, Result
from jsdoctor.model.rule import Risk
from jsdoctor.model.snapshot import SnapshotSeries

_RISKS = (Risk.SAFE, Risk.DISRUPTIVE, Risk.DESTRUCTIVE, Risk.MANUAL)

Rank = tuple[int, int]
"""The position of the incident in the report, and the number of causes above the finding in it."""

_AWAY = "JSD703"
"""The rule that reports servers which did not respond."""

_UNRANKED: Rank = (1 << 30, 0)


def ranks(incidents: Sequence[Incident]) -> dict[int, Rank]:
    """By identity of a result, its rank."""
    ranks_by_result: dict[int, Rank] = {}
    for place, incident in enumerate(incidents):
        ranks_by_result.update((id(result), (place, 0)) for result in incident.causes)
        above = {id(consequence.result): consequence.explained_by for consequence in incident.consequences}
        for consequence in incident.consequences:
            depth, result = 0, consequence.result
            while id(result) in above:
                depth, result = depth + 1, above[id(result)]
            ranks_by_result[id(consequence.result)] = (place, depth)
    return ranks_by_result


def rank_of(result: Result, known: Mapping[int, Rank]) -> Rank:
    """The rank of a result; the last one where it is in no incident."""
    return known.get(id(result), _UNRANKED)


def ordered(steps: Sequence[Step], rank: Mapping[str, Rank]) -> list[Step]:
    """Incident by incident, causes first, then the mildest; what a step needs right before it. `rank` is by id."""
    known = {step.id: step for step in steps}
    needed = {need for step in steps for need in step.needs}
    taken: dict[str, Step] = {}

    def take(step: Step) -> None:
        for need in step.needs:
            if need in known and need not in taken:
                take(known[need])
        taken.setdefault(step.id, step)

    for step in sorted(steps, key=lambda step: (rank.get(step.id, _UNRANKED), _RISKS.index(step.risk))):
        if step.id not in needed or rank.get(step.id, _UNRANKED) != _UNRANKED:
            take(step)
    return list(taken.values())


def waiting_for_leaders(
    steps: Iterable[Step], rank: Mapping[str, Rank], incidents: Sequence[Incident], evidence: EvidenceSet
) -> tuple[list[Step], list[UnplannedFinding]]:
    """Steps on streams without a leader need the step that fixes the cause; without such a step they are refused.

    A stream without a leader accepts no change: the request times out (server: jetstream_cluster.go).
    """
    unled = _unled(evidence)
    listed = list(steps)
    kept: list[Step] = []
    refused: list[UnplannedFinding] = []
    for step in listed:
        stream = _stream_of(step.subject)
        if step.is_manual or stream not in unled:
            kept.append(step)
            continue
        place = _place_of(stream, incidents)
        causes = [step.id for step in listed if rank.get(step.id) == (place, 0) and step.is_manual]
        if causes:
            kept.append(msgspec.structs.replace(step, needs=tuple(dict.fromkeys((*step.needs, *causes)))))
        else:
            code = step.proofs[0].code if step.proofs else ""
            reason = "its stream has no leader and takes no change now: run again when it has one"
            refused.append(UnplannedFinding(code, step.subject, reason))
    return kept, refused


def waiting_for_servers(steps: Iterable[Step], rank: Mapping[str, Rank], incidents: Sequence[Incident]) -> list[Step]:
    """Steps that add replicas need the step on an unreachable server, if there is one.

    The meta leader may place a replica on a server that is unreachable: the copy then begins when that server returns,
    and the step would fail its proof until then (server: jetstream_cluster.go, `selectPeerGroup`).
    """
    listed = list(steps)
    places = [place for place, incident in enumerate(incidents) if any(r.rule.code == _AWAY for r in incident.causes)]
    away = [step.id for step in listed if step.is_manual and rank.get(step.id) in {(place, 0) for place in places}]
    return [
        msgspec.structs.replace(step, needs=tuple(dict.fromkeys((*step.needs, *away))))
        if _adds_replicas(step)
        else step
        for step in listed
    ]


def _adds_replicas(step: Step) -> bool:
    return any(
        change.key == "num_replicas" and isinstance(change.after, int) and change.after > (change.before or 1)
        for change in step.changes
    )


def _unled(evidence: EvidenceSet) -> set[Subject]:
    series = evidence.get(SnapshotSeries)
    if series is None:
        return set()
    return {s.subject for s in series.last.streams if not s.has_leader} | {s.subject for s in series.last.silent}


def _stream_of(subject: Subject) -> Subject:
    if subject.kind != "consumer":
        return subject
    return Subject(kind="stream", name=subject.stream, account=subject.account)


def _place_of(stream: Subject, incidents: Sequence[Incident]) -> int:
    """The position of the first incident, in the order of the report, that is about that stream."""
    about = (p for p, incident in enumerate(incidents) if any(r.finding.subject == stream for r in incident.results))
    return next(about, -1)
