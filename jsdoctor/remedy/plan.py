"""From the findings of a report to a plan: steps of the closed set of actions, merged and in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import MANUAL, Json, Step, StepProof, UnplannedFinding
from jsdoctor.model.report import Incident, Result
from jsdoctor.model.rule import Risk, Rule
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.remedy.family import Action
from jsdoctor.remedy.merge import merged
from jsdoctor.remedy.ordering import Rank, ordered, rank_of, ranks, waiting_for_leaders, waiting_for_servers
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import created_at
from jsdoctor.remedy.registry import described

BACKUP = "stream.backup"
_ASSETS = ("stream", "consumer")
_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z(`])")


class Choice(msgspec.Struct, frozen=True):
    """A person's decision: for findings of this rule take this action, with these values (`--remedy`).

    `subject` narrows it to one: `STREAM`, `STREAM/CONSUMER` or the name of whatever else it is; empty means all.
    """

    code: str
    action: str
    values: dict[str, Any] = {}
    subject: str = ""

    def fits(self, code: str, subject: Subject) -> bool:
        """Whether it is about this finding."""
        name = "/".join(part for part in (subject.stream, subject.name) if part)
        return self.code == code and self.subject in ("", name)


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
    known = ranks(incidents)
    causes = {id(result) for incident in incidents if incident.consequences for result in incident.causes}
    rank: dict[str, Rank] = {}
    by_asset: dict[tuple[str, Subject], list[Step]] = {}
    refused: list[UnplannedFinding] = []
    for result in sorted(failures, key=lambda r: -r.severity.rank):
        subject, code = result.finding.subject, result.rule.code
        choice = next((choice for choice in reversed(choices) if choice.fits(code, subject)), None)
        try:
            target = target_of(subject, evidence, configs)
            planned = _steps(result, actions, target, choice, is_cause=id(result) in causes)
        except CannotPlanError as error:
            refused.append(UnplannedFinding(code, subject, error.reason))
            continue
        became: dict[str, str] = {}
        for step in _proven(planned, result, actions):
            needs = tuple(became.get(need, need) for need in step.needs)
            asset = (step.operation, step.subject)
            by_asset[asset], outcome = merged(by_asset.get(asset, []), _replace(step, needs=needs), code)
            if isinstance(outcome, UnplannedFinding):
                refused.append(outcome)
                break
            became[step.id] = outcome
            rank[outcome] = min(rank_of(result, known), rank.get(outcome, rank_of(result, known)))
    steps, unsafe = _backed_up([s for known in by_asset.values() for s in known], actions, evidence, configs)
    able, unable = waiting_for_leaders(steps, rank, incidents, evidence)
    able = waiting_for_servers(able, rank, incidents)
    taken = _tolerant(_identified(ordered(able, rank), evidence))
    return Drafted(_numbered(list(described(taken))), (*refused, *unsafe, *unable))


def target_of(subject: Subject, evidence: EvidenceSet, configs: Mapping[Subject, Json]) -> Target:
    """The evidence on a finding's subject."""
    series = evidence.get(SnapshotSeries)
    streams = series.last.streams if series is not None else ()
    name = subject.stream if subject.kind == "consumer" else subject.name
    stream = next(
        (s for s in streams if subject.kind in _ASSETS and (s.account, s.name) == (subject.account, name)), None
    )
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
    known = (action.look, "" if on_the_page else fix)
    return ". ".join(filter(None, known)) or f"jsdoctor explain {rule.code} describes what to do"


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
    if action.planner and (choice or action.risk is not Risk.MANUAL):
        return action.planner(target, values)
    if choice:
        raise CannotPlanError(f"{name} is nothing that jsdoctor can do: its commands are for a person")
    commands = result.remedy.commands if result.remedy else ()
    if not commands and not is_cause and not result.finding.advice:
        raise CannotPlanError(f"there is no command for it: jsdoctor explain {result.rule.code} shows what to do")
    manual = Step(
        action=name,
        operation=MANUAL,
        subject=target.subject,
        risk=Risk.MANUAL,
        effect=result.finding.advice or what_to_do(result.rule, action),
        commands=commands,
    )
    return (manual,)


def _proven(steps: Iterable[Step], result: Result, actions: Mapping[str, Action]) -> Iterator[Step]:
    """The last step of a finding proves it: before that, the finding may still exist."""
    listed = list(steps)
    why = f"{result.rule.code}: {result.finding.message}"
    for place, step in enumerate(listed):
        proofs = step.proofs
        if place == len(listed) - 1 and not step.is_manual:
            proofs = (*proofs, StepProof(result.rule.code, result.finding.subject))
        needs = tuple(f"{result.fingerprint}-{need}" for need in step.needs)
        named = f"{result.fingerprint}-{place}"
        improvement = None if step.is_manual else actions[step.action].improvement
        better = {"improvement": improvement.name, "better_when": improvement.text} if improvement else {}
        yield _replace(step, id=named, needs=needs, findings=(*step.findings, why), proofs=proofs, **better)


def _backed_up(
    steps: Sequence[Step], actions: Mapping[str, Action], evidence: EvidenceSet, configs: Mapping[Subject, Json]
) -> tuple[list[Step], list[UnplannedFinding]]:
    """Before each destructive step a backup of its stream, once per stream; without one the step is refused."""
    kept: list[Step] = []
    refused: list[UnplannedFinding] = []
    backups: dict[Subject, str] = {}
    planner = actions[BACKUP].planner if BACKUP in actions else None
    for step in steps:
        alone = step.action == BACKUP or step.needs or step.subject.kind not in _ASSETS
        if step.risk is not Risk.DESTRUCTIVE or alone:
            kept.append(step)
            continue
        name = step.subject.stream if step.subject.kind == "consumer" else step.subject.name
        stream = Subject(kind="stream", name=name, account=step.subject.account)
        try:
            if stream not in backups:
                if planner is None:
                    raise CannotPlanError("it is destructive, and no backup can be taken first")
                (backup,) = planner(target_of(stream, evidence, configs), {})
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


def _tolerant(steps: Sequence[Step]) -> list[Step]:
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
    return min((version for text in texts if (version := _version(text)) != (0, 0, 0)), default=(0, 0, 0))


def _version(text: str) -> tuple[int, int, int]:
    parts = text.partition("-")[0].split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return (0, 0, 0)
    return int(parts[0]), int(parts[1]), int(parts[2])


_replace = msgspec.structs.replace
