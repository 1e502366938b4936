"""Operations: how a step describes and writes its change, detects that the effect is there, and undoes it.

An operation builds the requests of a step once: a plan shows them, `write` sends them, and the `nats` commands beside
them are equivalent. All of it must be safe to repeat: after a process was killed at any point, another one reads the
state again and continues.

    class ConsumerReset(Operation):
        name = "consumer.reset"
        def requests(self, step, state): ...
        def commands(self, step): ...
        async def look(self, step, api): ...
        def standing(self, step, state): ...
        def awaited(self, step, before, state): ...

Families (`jsdoctor.remedy.families`) declare their operations; `jsdoctor.remedy.registry` lists the families.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import ClassVar

import msgspec

from jsdoctor.model.plan import Json, Request, Step
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.replies import same_moment


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


class Operation(ABC):
    """One method to change something, without state of its own."""

    name: ClassVar[str]
    reversible: ClassVar[bool] = True
    recreates: ClassVar[bool] = False
    """Whether it deletes its asset and creates it again, so that the time of creation changes."""

    @abstractmethod
    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """What `write` sends to an asset in that state, in its order, as far as it is known before. Pure."""

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        """What `undo` sends to an asset in that state, as far as it is known before. Pure."""
        del step, before, state
        return ()

    @abstractmethod
    def commands(self, step: Step) -> tuple[str, ...]:
        """Commands for a person that do what `requests` do, and those to look first. Pure."""

    def expected(self, step: Step, state: Json) -> Json:
        """The state after the step, as far as later steps on the same asset are concerned."""
        del step
        return state

    @abstractmethod
    async def read_state(self, step: Step, api: Api) -> Json:
        """The asset right now. The same shape as `step.base` or more; kept in the journal as the state before.

        Raises ApiError: a missing asset, or one that this login may not read, ends the step; an asset that is only not
        available yet is requested again.
        """

    @abstractmethod
    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Whether `state` is what the step was planned on, and the difference as text."""

    def interrupted(
        self, step: Step, before: Json, state: Json, notes: tuple[JournalNote, ...]
    ) -> tuple[Standing, str]:
        """The same after an interrupted write; `AS_PLANNED` means that `write` continues from there.

        An operation of several writes recognises completed ones by its notes.
        """
        del before, notes
        return self.standing(step, state)

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """Whether another asset has the name now, as text; empty if it is the one of `base`.

        A stream or consumer is identified by its name and its time of creation. Operations that delete and create the
        asset themselves recognise by their notes that another one is theirs.
        """
        del notes
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
        """What the write did beside what was planned; empty if nothing. Ends the wait: the step has failed."""
        del step, before, state
        return ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Undo the step; safe to repeat. Raises StepRefusedError if that would do harm, or is impossible."""
        del before
        raise StepRefusedError(f"{run.step.action} cannot be taken back")

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """What differs from `before` after `undo`, as text; empty if nothing does."""
        del step, before, state
        return ""
