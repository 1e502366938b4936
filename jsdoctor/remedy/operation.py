"""Actions, which rule pages name: each is one class with its commands, and all else where jsdoctor takes it.

The set is closed. Every command that an action prints is accepted by the real `nats` CLI; a test proves it. An `Action`
is a person's: `jsdoctor fix` prints its commands as a manual step. An `Operation` is one that jsdoctor can take: it
plans steps, writes their requests once (a plan shows them, `write` sends them), sees that the effect is there, and
undoes them. All of that must be safe to repeat: after a process was killed at any point, another one reads the state
again and continues.

    class ResetConsumer(Operation):
        name, risk, step_risk, effect, inverse = "consumer.reset", Risk.MANUAL, Risk.DISRUPTIVE, "...", "..."
        def commands(self, subject, values): ...
        def plan(self, target, values): ...
        def requests(self, step, state): ...
        def standing(self, step, state): ...
        def awaited(self, step, before, state): ...
        async def undo(self, run, before): ...

A module of `jsdoctor.remedy.families` has those that change one kind of thing; `jsdoctor.remedy.registry` lists them.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import MANUAL, Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.preconditions import LED
from jsdoctor.remedy.proof import Improvement
from jsdoctor.remedy.replies import same_moment

Values = Mapping[str, Any]
"""What a finding or a person says beside the subject."""


class StepRefusedError(Exception):
    """The step must not be taken now, or cannot be undone: the text is the reason. Nothing was written by this."""


class JournalNote(msgspec.Struct, frozen=True):
    """A note of an operation in the journal, for its own use: `kind` is defined by the operation."""

    kind: str
    data: Json = {}


class StepContext(msgspec.Struct, frozen=True):
    """The context of `write` and `undo`.

    `note` returns once the note is on disk: an operation of several writes notes each before doing it. `notes` are
    those of earlier runs of the same step, oldest first, `written` those of this run so far, and `needed` those of the
    steps that this one needs. `directory` is that of the journal: for backups. `on_request`: a person requested the
    rollback; only then may an undo delete a stream to restore it from its backup.
    """

    step: Step
    api: Api
    note: Callable[[str, Json], None]
    notes: tuple[JournalNote, ...] = ()
    written: Sequence[JournalNote] = ()
    needed: tuple[JournalNote, ...] = ()
    directory: Path = Path()
    say: Callable[[str], None] = lambda _: None
    on_request: bool = False

    async def send(self, requests: Sequence[Request]) -> Json:
        """Send requests of the JetStream API, each after the one before it has succeeded; returns the last reply."""
        reply: Json = {}
        for request in requests:
            reply = await self.api.ask(request.subject, request.payload)
        return reply


class Standing(Enum):
    """The state of an asset with regard to a step that is about to be taken."""

    AS_PLANNED = "as planned"
    DONE = "done already"
    DRIFTED = "changed since the plan was made"


class CannotPlanError(Exception):
    """This action does not fit this subject. `reason` completes a sentence that begins with the action's name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What an action is planned for: the finding's subject and what was seen of it.

    `config` is the raw configuration of the stream or consumer as the server sent it (durations in nanoseconds), empty
    for other subjects; `stream` and `consumer` are the same assets read (of a consumer also its stream); `version` is
    that of the oldest server that was seen, (0, 0, 0) when none was.
    """

    subject: Subject
    config: Json
    stream: Stream | None = None
    consumer: Consumer | None = None
    version: tuple[int, int, int] = (0, 0, 0)
    evidence: EvidenceSet

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All streams that were seen, in every account."""
        series = self.evidence.get(SnapshotSeries)
        return series.last.streams if series is not None else ()


def whole_number(values: Values, key: str) -> int:
    """A whole number from the values of an action. Raises CannotPlanError where there is none."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CannotPlanError(f"it needs {key.removesuffix('_s')}, a {'duration' if key.endswith('_s') else 'number'}")
    return value


def require_version(target: Target, least: tuple[int, int], what: str) -> None:
    """Raises CannotPlanError where a server is known to be older."""
    if (0, 0) < target.version[:2] < least:
        raise CannotPlanError(f"{what} needs nats-server {least[0]}.{least[1]} everywhere")


def command(*words: str) -> str:
    """One shell command from its words, quoted where a shell would need it."""
    return shlex.join(words)


def shell_commands(subject: Subject, /, *lines: str, **words: object) -> tuple[str, ...]:
    """Shell commands from lines whose words may be `{name}` and `{stream}` of the subject, or keys of `words`."""
    known = {**words, "name": subject.name, "stream": subject.stream}
    return tuple(command(*(word.format_map(known) for word in line.split())) for line in lines)


def show_command(subject: Subject) -> tuple[str, ...]:
    """The command that shows a stream or consumer."""
    return shell_commands(subject, f"nats {subject.kind} info " + ("{stream} {name}" if subject.stream else "{name}"))


def stream_of(subject: Subject) -> Subject:
    """The stream of a consumer; everything else is itself."""
    if subject.kind != "consumer":
        return subject
    return Subject(kind="stream", name=subject.stream, account=subject.account)


def path_of(subject: Subject) -> str:
    """The stream or consumer as subjects of the API end."""
    return f"{subject.stream}.{subject.name}" if subject.stream else subject.name


class Action(ABC):
    """Something to do about a finding, without state of its own.

    `risk` is that of the action as a rule offers it. `look` says what to look for in what the commands show.
    """

    name: str
    risk: Risk = Risk.MANUAL
    look: str = ""

    @abstractmethod
    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """Commands for a person, for a subject and the values of a finding or a step. Pure."""

    def by_hand(self, subject: Subject, effect: str, commands: tuple[str, ...], needs: tuple[str, ...] = ()) -> Step:
        """A step that a person takes."""
        return Step(
            action=self.name,
            operation=MANUAL,
            subject=subject,
            risk=Risk.MANUAL,
            effect=effect,
            commands=commands,
            needs=needs,
        )


class Operation(Action):
    """An action that jsdoctor can take.

    Steps carry `operation`: actions that differ only in what they plan have the same, and inherit all else from one
    class. `step_risk`, `effect`, `preconditions`, `inverse` and `patience_s` are those of its steps. `improvement` is
    what must show before such a step is verified; without one the rule alone proves it, as the setting itself was the
    fault. `recreates`: it deletes its asset and creates it again, so that the time of creation changes.
    """

    step_risk: Risk
    effect: str = ""
    preconditions: tuple[Precondition, ...] = (LED,)
    inverse: str = ""
    patience_s: int = 30
    improvement: Improvement | None = None
    reversible: bool = True
    recreates: bool = False

    @property
    def operation(self) -> str:
        """The name by which steps, also those in journals, find what they run."""
        return self.name

    @abstractmethod
    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        """The steps, in the order in which they must be taken. Pure.

        Raises `CannotPlanError` with the reason if the action does not fit. Ids, findings, proofs, `tolerates`,
        requests and commands are filled in by `jsdoctor.remedy.plan`; a step that needs an earlier one of these names
        it in `needs` by its place (`"0"`).
        """

    def step(self, target: Target, **more: Any) -> Step:
        """A step on the target with the values that the class declares; `more` adds to them or replaces them."""
        declared = {
            "action": self.name,
            "operation": self.operation,
            "subject": target.subject,
            "risk": self.step_risk,
            "effect": self.effect,
            "preconditions": self.preconditions,
            "inverse": self.inverse,
            "patience_s": self.patience_s,
        }
        return Step(**{**declared, **more})

    def commands_of(self, step: Step) -> tuple[str, ...]:
        """Commands for a person that do what `requests` do, and those to look first. Pure."""
        return self.commands(step.subject, step.values)

    @abstractmethod
    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """What `write` sends to an asset in that state, in its order, as far as it is known before. Pure."""

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        """What `undo` sends to an asset in that state, as far as it is known before. Pure."""
        return ()

    def expected(self, step: Step, state: Json) -> Json:
        """The state after the step, as far as later steps on the same asset are concerned."""
        return state

    async def read_state(self, step: Step, api: Api) -> Json:
        """The asset right now: its INFO. The shape of `step.base` or more; kept in the journal as the state before.

        Raises ApiError: a missing asset, or one that this login may not read, ends the step; an asset that is only not
        available yet is requested again.
        """
        return await api.ask(f"{step.subject.kind.upper()}.INFO.{path_of(step.subject)}")

    @abstractmethod
    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Whether `state` is what the step was planned on, and the difference as text."""

    def interrupted(
        self, step: Step, before: Json, state: Json, notes: tuple[JournalNote, ...]
    ) -> tuple[Standing, str]:
        """As `standing`, after an interrupted write; `AS_PLANNED` means that `write` continues from there.

        An operation of several writes recognises completed ones by its notes.
        """
        return self.standing(step, state)

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """Whether another asset has the name now, as text; empty if it is the one of `base`.

        A stream or consumer is identified by its name and its time of creation. Operations that delete and create the
        asset themselves recognise by their notes that another one is theirs.
        """
        planned, now = base.get("created"), state.get("created")
        if not planned or not now or same_moment(str(planned), str(now)):
            return ""
        kind = step.subject.kind
        return f"the {kind} was deleted and created again: it was created at {now}, not at {planned}"

    async def write(self, run: StepContext, before: Json) -> Json:
        """Send the requests; the last reply goes into the journal. `before` is what `read_state` showed last."""
        return await run.send(self.requests(run.step, before))

    @abstractmethod
    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """What is still missing for the effect of the step; empty once it is there. Evaluated again until then."""

    def broken(self, step: Step, before: Json, state: Json) -> str:
        """What the write changed beyond the plan, as text; empty if nothing. Anything else fails the step."""
        return ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Undo the step; safe to repeat. Raises StepRefusedError if that would do harm, or is impossible."""
        raise StepRefusedError(f"{run.step.action} cannot be taken back")

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """What differs from `before` after `undo`, as text; empty if nothing does."""
        return ""
