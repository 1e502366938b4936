"""What manifests would change in the deployment beside them: fields before and after, messages at stake, drift."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.engine.change import Config, comparable
from jsdoctor.engine.comparison import is_undecided, outcome_of_read_subjects
from jsdoctor.model.change import ChangeAction, ChangeStep, FieldChange, ManifestChange
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Outcome, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredAsset, DeclaredConsumer, DeclaredStream, Manifests, PlannedAction
from jsdoctor.model.report import Result, RuleVerdict
from jsdoctor.model.server import ConnectedServer
from jsdoctor.model.server_defaults import consumer_as_stored, stream_as_stored
from jsdoctor.model.setting import rows
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.subjects import subjects_overlap
from jsdoctor.model.wording import span

_DELETION_CHECK = "stream_limits.change_deletes_declared"
"""The check that finds which stored messages a change deletes."""
_STREAM_HIDING_GAPS = frozenset({"connection", "server", "stream", "endpoint", "reply"})
"""Kinds of gaps that may hide a stream."""
_CHANGE_ACTIONS = {PlannedAction.REPLACED: ChangeAction.REPLACE, PlannedAction.DELETED: ChangeAction.DELETE}
_NAME_FIELDS = ("name", "durable_name")
_NOT_ALL_SEEN = "not all of the deployment was seen"


class _Draft(NamedTuple):
    """A step before it has its place in the order, with the stream's configurations. `same`: it changes nothing."""

    step: ChangeStep
    before: StreamConfig | None = None
    after: StreamConfig | None = None
    same: bool = False


def manifest_change(
    evidence: EvidenceSet, results: Sequence[Result], verdicts: Sequence[RuleVerdict], gaps: Sequence[Gap]
) -> ManifestChange | None:
    """The change of this run's manifests; None where there are no manifests, or no deployment beside them."""
    manifests, snapshots = evidence.get(Manifests), evidence.get(SnapshotSeries)
    if manifests is None or snapshots is None:
        return None
    deployed = Deployed(snapshots)
    blind = _may_hide_streams(evidence, gaps)
    drafts = [_stream_draft(stream, deployed, blind) for stream in manifests.streams]
    drafts += [_consumer_draft(consumer, deployed, blind) for consumer in manifests.consumers]
    changing = [draft for draft in drafts if not draft.same]
    places = apply_order(
        [Planned(entry.step.subject, entry.step.action, entry.before, entry.after) for entry in changing]
    )
    stakes = _Stakes(results, verdicts)
    unseen, incomplete = _undeclared(manifests, deployed, snapshots, blind)
    return ManifestChange(
        steps=tuple(stakes.added_to(changing[place].step, why) for place, why in places),
        unchanged=len(drafts) - len(changing),
        undeclared=tuple(unseen),
        incomplete=incomplete,
    )


def drift_gaps(change: ManifestChange | None) -> tuple[Gap, ...]:
    """What a comparison with the deployment could not see; nothing where it saw everything."""
    if change is None:
        how = "name it: -s URL, --context NAME or --bundle FILE"
        return (Gap("drift", CLUSTER, "no deployment was seen beside the manifests", how),)
    unclear = [step for step in change.steps if step.action is ChangeAction.UNCLEAR]
    gaps = [Gap("drift", step.subject, step.reason, "see the other gaps, and run again") for step in unclear]
    if change.incomplete:
        gaps.append(Gap("drift", CLUSTER, change.incomplete, "use a login of the account that the manifests are for"))
    return tuple(gaps)


def _may_hide_streams(evidence: EvidenceSet, gaps: Sequence[Gap]) -> bool:
    """Whether a stream may exist that no reply showed. A plain account lists all of its own."""
    own = isinstance(evidence.get(ConnectedServer), ConnectedServer)
    return any(gap.kind in _STREAM_HIDING_GAPS and (gap.requested or not own) for gap in gaps)


def _stream_draft(declared: DeclaredStream, deployed: Deployed, blind: bool) -> _Draft:
    current = deployed.stream(declared.name)
    doubt = deployed.doubt(declared, declared.name)
    unclear = doubt.message if doubt else _NOT_ALL_SEEN if blind and current is None else ""
    before = current.config if current else None
    kept = declared.planned_action is PlannedAction.KEPT
    after = declared.after_update(before) if before and kept else declared.stored
    base = before or stream_as_stored(StreamConfig(name=declared.name))
    deletes = declared.planned_action is PlannedAction.DELETED
    fields = () if deletes or unclear else _fields(base, after, bool(before))
    step = _step(declared, _action(declared, bool(before), unclear), fields, unclear)
    step = msgspec.structs.replace(step, messages=current.state.messages if current else None)
    same = bool(before) and not fields and not unclear and _is_fully_declared(declared)
    return _Draft(step, before, None if deletes else after, same)


def _consumer_draft(declared: DeclaredConsumer, deployed: Deployed, blind: bool) -> _Draft:
    stream = deployed.stream(declared.stream)
    current = consumer_of(stream, declared.name)
    doubt = deployed.doubt(declared, declared.stream)
    unlisted = current is None and (not stream.consumers_seen if stream else blind)
    unclear = doubt.message if doubt else _NOT_ALL_SEEN if unlisted else ""
    before = current.config if current else consumer_as_stored(ConsumerConfig())
    deletes = declared.planned_action is PlannedAction.DELETED
    after = consumer_as_stored(declared.asked(current.config)) if current else declared.stored
    fields = () if deletes or unclear else _fields(before, after, bool(current))
    step = _step(declared, _action(declared, bool(current), unclear), fields, unclear)
    return _Draft(step, same=bool(current) and not fields and not unclear and _is_fully_declared(declared))


def _is_fully_declared(declared: DeclaredAsset) -> bool:
    """Whether it is to exist, and every field of it is known and valid."""
    return declared.planned_action is PlannedAction.KEPT and not declared.mistakes and not declared.unknown


def _action(declared: DeclaredAsset, is_deployed: bool, unclear: str) -> ChangeAction:
    if declared.planned_action is not PlannedAction.KEPT:
        return _CHANGE_ACTIONS[declared.planned_action]
    if unclear:
        return ChangeAction.UNCLEAR
    return ChangeAction.UPDATE if is_deployed else ChangeAction.CREATE


def _step(
    declared: DeclaredStream | DeclaredConsumer, action: ChangeAction, fields: tuple[FieldChange, ...], unclear: str
) -> ChangeStep:
    reasons = [unclear] if unclear else []
    if declared.unknown:
        reasons.append(f"known after the tool has run: {', '.join(sorted(declared.unknown))}")
    if declared.mistakes:
        reasons.append("its manifest has mistakes: see the findings")
    if action is ChangeAction.UPDATE and not declared.may_update:
        reasons.append(f"{declared.tool} has the option not to update it")
    return ChangeStep(
        subject=declared.subject,
        action=action,
        file=declared.place.file,
        line=declared.place.line,
        fields=fields,
        reason="; ".join(reasons),
    )


def _fields(before: Config, after: Config, is_deployed: bool) -> tuple[FieldChange, ...]:
    """The fields that differ. `there`: it exists; what is created has no value before, and `before` is the default."""
    old, new = comparable(before), comparable(after)
    return tuple(
        FieldChange(
            row.name, _shown_value(row.attribute, was) if is_deployed else "", _shown_value(row.attribute, becomes)
        )
        for row in rows(type(new))
        if row.name not in _NAME_FIELDS
        and (was := getattr(old, row.attribute)) != (becomes := getattr(new, row.attribute))
    )


def _shown_value(name: str, value: object) -> str:
    if name.endswith("_ns"):
        times = value if isinstance(value, tuple) else (value,)
        return ", ".join(span(int(time)) for time in times)
    plain = msgspec.to_builtins(value)
    if isinstance(plain, list | tuple) and all(isinstance(value, str) for value in plain):
        return ", ".join(plain)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


class _Stakes:
    """Which messages a step deletes, by the findings of the check on deletions in this run."""

    def __init__(self, results: Iterable[Result], verdicts: Iterable[RuleVerdict]) -> None:
        self._judged = any(
            _DELETION_CHECK in verdict.rule.checks
            and not is_undecided(outcome_of_read_subjects(verdict.outcome, verdict.subjects))
            for verdict in verdicts
        )
        self._found = {
            result.finding.subject: result.finding for result in results if _DELETION_CHECK in result.rule.checks
        }

    def added_to(self, step: ChangeStep, why: str) -> ChangeStep:
        """The step with what it deletes, and the reason for its place."""
        reason = "; ".join(part for part in (step.reason, why) if part)
        return msgspec.structs.replace(step, at_stake=self._at_stake(step), reason=reason)

    def _at_stake(self, step: ChangeStep) -> str:
        if step.action is ChangeAction.CREATE:
            return ""
        finding = self._found.get(step.subject)
        if finding is None:
            return "" if self._judged and step.action is not ChangeAction.UNCLEAR else "not known"
        return finding.message if finding.outcome is Outcome.FAIL else f"not known: {finding.message}"


def _undeclared(
    manifests: Manifests, deployed: Deployed, snapshots: SnapshotSeries, blind: bool
) -> tuple[list[Subject], str]:
    """What is deployed in the account of the manifests and in none of them, and why more may be (empty: it is all)."""
    names = {stream.name for stream in manifests.streams}
    account = deployed.account_of(names | {consumer.stream for consumer in manifests.consumers})
    if account is None:
        return [], "several accounts have streams, and the manifests do not name the account"
    streams = [stream for stream in snapshots.last.streams if stream.account == account and not stream.is_mqtt]
    consumers = {(consumer.stream, consumer.name) for consumer in manifests.consumers}
    subjects = [stream.subject for stream in streams if stream.name not in names]
    for stream in streams:
        if stream.name in names:
            subjects += _undeclared_consumers(stream, consumers)
    unlisted = any(stream.name in names and not stream.consumers_seen for stream in streams)
    return sorted(subjects, key=lambda item: item.label), _NOT_ALL_SEEN if blind or unlisted else ""


def _undeclared_consumers(stream: Stream, declared: set[tuple[str, str]]) -> Iterator[Subject]:
    """The durable consumers of a stream that no manifest declares: clients create ephemeral ones themselves."""
    for consumer in stream.consumers:
        if consumer.config.durable_name and (stream.name, consumer.name) not in declared:
            yield consumer.subject


class Planned(NamedTuple):
    """What decides the order of a step. `before` and `after` are configurations of a stream, or None."""

    subject: Subject
    action: ChangeAction
    before: StreamConfig | None = None
    after: StreamConfig | None = None


def apply_order(steps: Sequence[Planned]) -> list[tuple[int, str]]:
    """The places of the steps in the order to apply them, each with the reason for its place (empty: none)."""
    waits = [_waits_for(step, steps) for step in steps]
    rest, done = list(range(len(steps))), list[tuple[int, str]]()
    while rest:
        ready = next((number for number in rest if not waits[number].keys() & set(rest)), None)
        chosen = rest[0] if ready is None else ready
        if ready is None:
            other = next(wait for wait in waits[chosen] if wait in rest)
            done.append(
                (chosen, f"it and {_name(steps[other])} wait for each other: apply the change in smaller parts")
            )
        else:
            done.append((chosen, "; ".join(dict.fromkeys(waits[chosen].values()))))
        rest.remove(chosen)
    return done


def _waits_for(step: Planned, steps: Sequence[Planned]) -> dict[int, str]:
    """The steps that come before this one, by their place, and why."""
    reasons = (
        (place, _reason_to_wait(step, other)) for place, other in enumerate(steps) if other.subject != step.subject
    )
    return {place: reason for place, reason in reasons if reason}


def _reason_to_wait(step: Planned, other: Planned) -> str:
    """Why `other` comes before `step`; empty: it need not."""
    if step.subject.kind == "consumer":
        return _consumer_waits(step, other)
    if other.subject.kind == "consumer":
        return _stream_waits_for_consumer(step, other)
    return _stream_waits_for_stream(step, other)


def _consumer_waits(step: Planned, other: Planned) -> str:
    if (
        other.subject.kind != "stream"
        or other.subject.name != step.subject.stream
        or step.action is ChangeAction.DELETE
    ):
        return ""
    return "" if _becomes_interest(other) else f"after its stream {other.subject.name}"


def _stream_waits_for_consumer(step: Planned, other: Planned) -> str:
    if other.subject.stream != step.subject.name:
        return ""
    if other.action is ChangeAction.DELETE:
        return f"after the deletion of its consumer {other.subject.name}"
    if _becomes_interest(step):
        return f"after consumer {other.subject.name}: interest retention drops what no consumer wants"
    return ""


def _stream_waits_for_stream(step: Planned, other: Planned) -> str:
    if step.after is None:
        return ""
    origins = (step.after.mirror, *step.after.sources)
    if any(origin and origin.external is None and origin.name == other.subject.name for origin in origins):
        return f"after {other.subject.name}, from which it copies" if other.after is not None else ""
    added, removed = _added_subjects(step), _removed_subjects(other)
    if any(subjects_overlap(mine, theirs) for mine in added for theirs in removed):
        return f"after {other.subject.name}, which gives up subjects that it takes"
    return ""


def _becomes_interest(step: Planned) -> bool:
    """Whether an existing stream gets interest retention."""
    before, after = step.before, step.after
    return bool(before and after and before.retention != "interest" and after.retention == "interest")


def _added_subjects(step: Planned) -> set[str]:
    return set(step.after.subjects if step.after else ()) - set(step.before.subjects if step.before else ())


def _removed_subjects(step: Planned) -> set[str]:
    return set(step.before.subjects if step.before else ()) - set(step.after.subjects if step.after else ())


def _name(step: Planned) -> str:
    return step.subject.name
