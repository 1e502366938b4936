"""From the findings of a report to a plan: steps of the closed set of actions, merged and in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Choice, Json, Step, StepProof, UnplannedFinding
from jsdoctor.model.report import Incident, Result
from jsdoctor.model.rule import Risk, Rule
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.remedy.operation import Action, CannotPlanError, Operation, Target, stream_of
from jsdoctor.remedy.preconditions import created_at
from jsdoctor.remedy.registry import load_operations
from jsdoctor.remedy.replies import changes_text

BACKUP = "stream.backup"
_ASSETS = ("stream", "consumer")
_RISKS = (Risk.SAFE, Risk.DISRUPTIVE, Risk.DESTRUCTIVE, Risk.MANUAL)
_UNREACHABLE_RULE = "JSD703"
"""The rule that reports servers which did not respond."""
Rank = tuple[int, int]
"""The position of the incident in the report, and the number of causes above the finding in it."""
_UNRANKED: Rank = (1 << 30, 0)
_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z(`])")
_replace = msgspec.structs.replace


class Drafted(msgspec.Struct, frozen=True):
    """The steps and refusals of a plan."""

    steps: tuple[Step, ...]
    refused: tuple[UnplannedFinding, ...]


def draft(
    failures: Sequence[Result],
    actions: Mapping[str, Action],
    evidence: EvidenceSet,
    configs: Mapping[Subject, Json],
    choices: Sequence[Choice] = (),
    *,
    incidents: Sequence[Incident] = (),
) -> Drafted:
    """Plan for all failures, in the order of the incidents. Each failure ends in a step or in a refusal."""
    ranks = _ranks(incidents)
    causes = {id(result) for incident in incidents if incident.consequences for result in incident.causes}
    rank: dict[str, Rank] = {}
    by_asset: dict[tuple[str, Subject], list[Step]] = {}
    refused: list[UnplannedFinding] = []
    for result in sorted(failures, key=lambda r: -r.severity.rank):
        subject, code = result.finding.subject, result.rule.code
        choice = next((choice for choice in reversed(choices) if choice.fits(code, subject)), None)
        try:
            target = _target_of(subject, evidence, configs)
            planned = _steps(result, actions, target, choice, is_cause=id(result) in causes)
        except CannotPlanError as error:
            refused.append(UnplannedFinding(code, subject, error.reason))
            continue
        became: dict[str, str] = {}
        for step in _with_proofs(planned, result, actions):
            needs = tuple(became.get(need, need) for need in step.needs)
            asset = (step.operation, step.subject)
            by_asset[asset], outcome = merged(by_asset.get(asset, []), _replace(step, needs=needs), code)
            if isinstance(outcome, UnplannedFinding):
                refused.append(outcome)
                break
            became[step.id] = outcome
            rank[outcome] = min(ranks.get(id(result), _UNRANKED), rank.get(outcome, _UNRANKED))
    steps, unsafe = _backed_up(
        [step for asset_steps in by_asset.values() for step in asset_steps], actions, evidence, configs
    )
    able, unable = _waiting_for_leaders(steps, rank, incidents, evidence)
    able = _waiting_for_servers(able, rank, incidents)
    taken = _tolerating_each_other(_identified(_ordered(able, rank), evidence))
    return Drafted(_numbered(list(described(taken))), (*refused, *unsafe, *unable))


def described(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, in the order in which they are taken, with the requests and commands of their operations.

    The requests of a step are those for its asset as the steps before it leave it.
    """
    left: dict[Subject, Json] = {}
    for step in steps:
        if step.is_manual:
            yield step
            continue
        operation = load_operations()[step.operation]
        before = {**step.base, **left.get(step.subject, {})}
        after = operation.expected(step, before)
        left[step.subject] = {"config": after["config"]} if "config" in after else {}
        yield _replace(
            step,
            requests=operation.requests(step, before),
            undo=operation.undo_requests(step, before, after),
            commands=operation.commands_of(step),
        )


def _target_of(subject: Subject, evidence: EvidenceSet, configs: Mapping[Subject, Json]) -> Target:
    """The evidence on a finding's subject."""
    series = evidence.get(SnapshotSeries)
    streams = series.last.streams if series is not None else ()
    stream = next((s for s in streams if s.subject == stream_of(subject)), None)
    consumers = stream.consumers if stream and subject.kind == "consumer" else ()
    return Target(
        subject=subject,
        config=dict(configs.get(subject, {})),
        stream=stream,
        consumer=next((c for c in consumers if c.name == subject.name), None),
        version=_oldest(evidence),
        evidence=evidence,
    )


def what_to_do(rule: Rule, action: Action) -> str:
    """What a person has to look for, and the first sentence of the Fix section of the rule's page."""
    section = rule.body.partition("\n## Fix\n")[2].partition("\n## ")[0].strip().partition("\n\n")[0]
    fix = _SENTENCE.split(" ".join(section.split()).removeprefix("- "), maxsplit=1)[0]
    on_the_page = fix.endswith(":") or fix.startswith("`")  # a block that follows, or a command for any stream
    parts = (action.look, "" if on_the_page else fix)
    return ". ".join(filter(None, parts)) or f"jsdoctor explain {rule.code} describes what to do"


def _steps(
    result: Result, actions: Mapping[str, Action], target: Target, choice: Choice | None, *, is_cause: bool = False
) -> tuple[Step, ...]:
    """The steps of one finding; one that explains others has a step for a person, also without a command.

    Raises CannotPlanError.
    """
    name = choice.action if choice else (result.remedy.action if result.remedy else "none")
    action = actions[name]
    # Any edit by the CLI turns acknowledgements on, unless `--no-ack` is given.
    silent = {"no_ack": True} if target.config.get("no_ack") else {}
    values = {**silent, **result.finding.remedy, **(choice.values if choice else {})}
    kind = name.partition(".")[0]
    if kind in _ASSETS and kind != target.subject.kind:
        raise CannotPlanError(f"{name} is for a {kind}, and this is a {target.subject.kind}")
    if isinstance(action, Operation) and (choice or action.risk is not Risk.MANUAL):
        return action.plan(target, values)
    if choice:
        raise CannotPlanError(f"{name} is nothing that jsdoctor can do: its commands are for a person")
    commands = result.remedy.commands if result.remedy else ()
    if not commands and not is_cause and not result.finding.advice:
        raise CannotPlanError(f"there is no command for it: jsdoctor explain {result.rule.code} shows what to do")
    return (action.by_hand(target.subject, result.finding.advice or what_to_do(result.rule, action), commands),)


def _with_proofs(steps: Iterable[Step], result: Result, actions: Mapping[str, Action]) -> Iterator[Step]:
    """The steps of a finding with their ids, findings and improvements; the last one also has the finding's proof."""
    listed = list(steps)
    why = f"{result.rule.code}: {result.finding.message}"
    for place, step in enumerate(listed):
        proofs = step.proofs
        if place == len(listed) - 1 and not step.is_manual:
            proofs = (*proofs, StepProof(result.rule.code, result.finding.subject))
        needs = tuple(f"{result.fingerprint}-{need}" for need in step.needs)
        named = f"{result.fingerprint}-{place}"
        action = actions[step.action]
        improvement = action.improvement if isinstance(action, Operation) and not step.is_manual else None
        better = {"improvement": improvement.name, "better_when": improvement.text} if improvement else {}
        yield _replace(step, id=named, needs=needs, findings=(*step.findings, why), proofs=proofs, **better)


def _backed_up(
    steps: Sequence[Step], actions: Mapping[str, Action], evidence: EvidenceSet, configs: Mapping[Subject, Json]
) -> tuple[list[Step], list[UnplannedFinding]]:
    """Before each destructive step a backup of its stream, once per stream; without one the step is refused."""
    kept: list[Step] = []
    refused: list[UnplannedFinding] = []
    backups: dict[Subject, str] = {}
    backing_up = actions.get(BACKUP)
    for step in steps:
        alone = step.action == BACKUP or step.needs or step.subject.kind not in _ASSETS
        if step.risk is not Risk.DESTRUCTIVE or alone:
            kept.append(step)
            continue
        stream = stream_of(step.subject)
        try:
            if stream not in backups:
                if not isinstance(backing_up, Operation):
                    raise CannotPlanError("it is destructive, and no backup can be taken first")
                (backup,) = backing_up.plan(_target_of(stream, evidence, configs), {})
                backups[stream] = f"backup of {stream.label}"
                # It has the risk of the step that it is for: if that is not allowed, the backup is not needed.
                for_it = _replace(backup, id=backups[stream], findings=(f"before {step.action}",), risk=step.risk)
                kept.append(for_it)
            kept.append(_replace(step, needs=(backups[stream],)))
        except CannotPlanError as error:
            code = step.proofs[0].code if step.proofs else ""
            refused.append(UnplannedFinding(code, step.subject, error.reason))
    return kept, refused


def _identified(steps: Iterable[Step], evidence: EvidenceSet) -> list[Step]:
    """Steps on a stream or consumer are for the one that was seen: identified by its name and time of creation."""
    series = evidence.get(SnapshotSeries)
    streams = series.last.streams if series is not None else ()
    created = {stream.subject: stream.created for stream in streams}
    created |= {consumer.subject: consumer.created for stream in streams for consumer in stream.consumers}

    def identified(step: Step) -> Step:
        seen = created.get(step.subject)
        if step.is_manual or seen is None:
            return step
        moment = seen.isoformat()
        same = created_at(step.subject.kind, moment)
        return _replace(step, base={**step.base, "created": moment}, preconditions=(same, *step.preconditions))

    return [identified(step) for step in steps]


def _tolerating_each_other(steps: Sequence[Step]) -> list[Step]:
    """Steps on one asset tolerate each other's changes: those are no drift."""
    by_asset: dict[tuple[str, Subject], list[Step]] = {}
    for step in steps:
        by_asset.setdefault((step.operation, step.subject), []).append(step)

    def others(step: Step) -> dict[str, list[Any]]:
        return {
            change.key: [change.before, change.after]
            for other in by_asset[step.operation, step.subject]
            if other is not step
            for change in other.changes
        }

    return [_replace(step, tolerates=others(step)) for step in steps]


def _numbered(steps: Sequence[Step]) -> tuple[Step, ...]:
    numbers = {step.id: str(place) for place, step in enumerate(steps, 1)}
    return tuple(
        _replace(step, id=numbers[step.id], needs=tuple(numbers[need] for need in step.needs if need in numbers))
        for step in steps
    )


def _oldest(evidence: EvidenceSet) -> tuple[int, int, int]:
    servers, connected = evidence.get(Servers), evidence.get(ConnectedServer)
    texts = [server.version for server in servers.servers] if servers is not None else []
    texts += [connected.version] if connected is not None else []
    versions = [text.partition("-")[0].split(".") for text in texts]
    read = [(int(v[0]), int(v[1]), int(v[2])) for v in versions if len(v) == 3 and all(part.isdigit() for part in v)]
    return min((version for version in read if version != (0, 0, 0)), default=(0, 0, 0))


def merged(steps: Sequence[Step], new: Step, code: str) -> tuple[list[Step], UnplannedFinding | str]:
    """Add a step, merged into one on the same asset if their changes agree.
    Returns the steps with the id of the step that does it, or unchanged with the refusal if it contradicts one.
    """
    for place, known in enumerate(steps):
        if known.is_manual and (known.commands, known.effect) != (new.commands, new.effect):
            continue
        both = _merged_changes(known.changes, new.changes)
        if both is None:
            changes = f"{changes_text(known.changes)}, not {changes_text(new.changes)}"
            reason = f"it contradicts another step on the same {new.subject.kind}: {changes}"
            return list(steps), UnplannedFinding(code, new.subject, reason)
        if both or not (known.changes or new.changes):
            taken = new if both and both != known.changes else known
            step = _replace(
                taken,
                id=known.id,
                findings=tuple(dict.fromkeys((*known.findings, *new.findings))),
                proofs=tuple(dict.fromkeys((*known.proofs, *new.proofs))),
                changes=both,
                needs=tuple(dict.fromkeys((*known.needs, *new.needs))),
                patience_s=max(known.patience_s, new.patience_s),
            )
            return [*steps[:place], step, *steps[place + 1 :]], step.id
    return [*steps, new], new.id


def _merged_changes(known: Sequence[Change], new: Sequence[Change]) -> tuple[Change, ...] | None:
    """Changes that satisfy both; empty if they have no key in common; None if they contradict or overlap in part."""
    by_key, new_by_key = {c.key: c for c in known}, {c.key: c for c in new}
    if not by_key.keys() & new_by_key.keys():
        return ()
    if by_key.keys() != new_by_key.keys():
        return None
    settled = [_merged_change(by_key[key], new_by_key[key]) for key in by_key]
    return tuple(change for change in settled if change) if all(settled) else None


def _merged_change(first: Change, second: Change) -> Change | None:
    """The change that satisfies both: equal ones, or the higher of two that raise a limit; else None."""
    if first.after == second.after:
        return first
    ends = (first.before, first.after, second.after)
    if all(isinstance(end, int) and not isinstance(end, bool) for end in ends) and min(ends[1:]) > max(ends[0], 0):
        return max(first, second, key=lambda change: change.after)
    return None


def _ranks(incidents: Sequence[Incident]) -> dict[int, Rank]:
    """The rank of each result, by its `id()`."""
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


def _ordered(steps: Sequence[Step], rank: Mapping[str, Rank]) -> list[Step]:
    """Sort by incident, causes first, then the lowest risk; steps that one needs come before it. `rank` is by id."""
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


def _waiting_for_leaders(
    steps: Iterable[Step], rank: Mapping[str, Rank], incidents: Sequence[Incident], evidence: EvidenceSet
) -> tuple[list[Step], list[UnplannedFinding]]:
    """Steps on streams without a leader need the step that fixes the cause; without such a step they are refused.

    A stream without a leader accepts no change: the request times out (server: jetstream_cluster.go).
    """
    series = evidence.get(SnapshotSeries)
    unled: set[Subject] = set()
    if series is not None:
        unled = {s.subject for s in series.last.streams if not s.has_leader} | {s.subject for s in series.last.silent}
    listed = list(steps)
    kept: list[Step] = []
    refused: list[UnplannedFinding] = []
    for step in listed:
        stream = stream_of(step.subject)
        if step.is_manual or stream not in unled:
            kept.append(step)
            continue
        place = _incident_place(stream, incidents)
        causes = [step.id for step in listed if rank.get(step.id) == (place, 0) and step.is_manual]
        if causes:
            kept.append(_replace(step, needs=tuple(dict.fromkeys((*step.needs, *causes)))))
        else:
            code = step.proofs[0].code if step.proofs else ""
            reason = "its stream has no leader and takes no change now: run again when it has one"
            refused.append(UnplannedFinding(code, step.subject, reason))
    return kept, refused


def _waiting_for_servers(steps: Iterable[Step], rank: Mapping[str, Rank], incidents: Sequence[Incident]) -> list[Step]:
    """Steps that add replicas need the step on an unreachable server, if there is one.

    The meta leader may place a replica on a server that is unreachable: the copy then begins when that server returns,
    and the step would fail its proof until then (server: jetstream_cluster.go, `selectPeerGroup`).
    """
    listed = list(steps)
    places = [
        place
        for place, incident in enumerate(incidents)
        if any(r.rule.code == _UNREACHABLE_RULE for r in incident.causes)
    ]
    away = [step.id for step in listed if step.is_manual and rank.get(step.id) in {(place, 0) for place in places}]
    return [
        _replace(step, needs=tuple(dict.fromkeys((*step.needs, *away)))) if _adds_replicas(step) else step
        for step in listed
    ]


def _adds_replicas(step: Step) -> bool:
    return any(
        change.key == "num_replicas" and isinstance(change.after, int) and change.after > (change.before or 1)
        for change in step.changes
    )


def _incident_place(stream: Subject, incidents: Sequence[Incident]) -> int:
    """The position of the first incident, in the order of the report, that is about that stream."""
    places = (p for p, incident in enumerate(incidents) if any(r.finding.subject == stream for r in incident.results))
    return next(places, -1)
