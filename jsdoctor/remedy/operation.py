"""What an operation is: how a step describes and writes its change, sees that the effect is there, and undoes it.

An operation builds the requests of a step once: a plan shows them, `write` sends them, and the `nats` commands beside
them say the same. All of it must be safe to repeat: a process that was killed at any point is followed by another that
looks again and goes on.

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
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import ClassVar, Protocol

import msgspec

from jsdoctor.model.plan import Json, Request, Step
from jsdoctor.remedy.moment import same_moment


class ApiError(Exception):
    """The server answered a request with an error: nothing was written by it. `err_code` is that of errors.json."""

    def __init__(self, subject: str, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{subject}: {description} (error {err_code or code})")
        self.subject, self.code, self.err_code, self.description = subject, code, err_code, description


class DeniedError(Exception):
    """The login may not ask that: nothing was written. The text holds the server's own words."""


class NoResponseError(Exception):
    """No answer: whether it was written is not known until somebody looks."""


class LostError(NoResponseError):
    """The connection is gone: nothing more can be asked in this run."""


class StepRefusedError(Exception):
    """The step must not be taken now, or cannot be taken back: the reason is the text. Nothing was written by this."""


class InboxMessage(msgspec.Struct, frozen=True):
    """A message as it came to an inbox."""

    data: bytes = b""
    reply: str = ""
    headers: Mapping[str, str] = {}


class Inbox(Protocol):
    """A subscription to a subject of its own."""

    @property
    def subject(self) -> str:
        """Where messages for it go."""

    async def next(self, timeout_s: float) -> InboxMessage | None:
        """The next message; None where none comes in time. Raises LostError."""

    async def close(self) -> None:
        """End the subscription, also where the connection is gone."""


class Api(Protocol):
    """Requests through the connection of this run. The prefix of the JetStream API is put before `subject`.

    `ask` raises ApiError, DeniedError, NoResponseError or LostError; so does `request`, which takes a whole subject and
    returns the reply's JSON whatever is in it.
    """

    @property
    def timeout_s(self) -> float:
        """Longest wait for one answer."""

    @property
    def server_version(self) -> tuple[int, int]:
        """Major and minor version of the server of this connection."""

    async def ask(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request of the JetStream API that must succeed."""

    async def request(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request to any subject."""

    async def publish(self, subject: str, payload: bytes, reply: str = "") -> None:
        """A message that nobody confirms. Raises LostError."""

    async def store(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> Json:
        """A message to a stream, and the stream's reply. Raises NoResponseError."""

    async def inbox(self) -> Inbox:
        """A new inbox. Raises LostError."""


class JournalNote(msgspec.Struct, frozen=True):
    """What an operation wrote into the journal while it ran, for itself: `kind` is its own word."""

    kind: str
    data: Json = {}


class StepContext(msgspec.Struct, frozen=True):
    """What `write` and `undo` may use.

    `note` returns once its words are on the disk: an operation of several writes notes each before doing it. `notes`
    are those of earlier runs of the same step, oldest first, `written` those of this run so far, and `needed` those of
    the steps that this one needs.
    `directory` is where the journal lies: for backups. `on_request` is whether a person asked for the rollback: only
    then may an undo delete a stream to put it back from its backup.
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
        """Requests of the JetStream API, each when the one before it has succeeded; the last reply."""
        reply: Json = {}
        for request in requests:
            reply = await self.api.ask(request.subject, request.payload)
        return reply


class Standing(Enum):
    """How an asset stands to a step that is about to be taken."""

    AS_PLANNED = "as planned"
    DONE = "done already"
    DRIFTED = "changed since the plan was made"


class Operation(ABC):
    """One way to change something. Without state of its own."""

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
    async def look(self, step: Step, api: Api) -> Json:
        """The asset right now. The same shape as `step.base` or more; kept in the journal as the state before.

        ApiErrors leave it: what is not there, or not for this login, ends the step; what is only not there yet is asked
        for again.
        """

    @abstractmethod
    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Whether `state` is what the step was planned on, and in words what is not."""

    def interrupted(
        self, step: Step, before: Json, state: Json, notes: tuple[JournalNote, ...]
    ) -> tuple[Standing, str]:
        """The same after a write that may have been cut off; `AS_PLANNED` means that `write` goes on from there.

        An operation of several writes knows its own halves by its notes.
        """
        del before, notes
        return self.standing(step, state)

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """Whether another asset has the name now, in words; empty when it is the one of `base`.

        A stream or consumer is identified by its name and its time of creation. Operations that delete and create the
        asset themselves know by their notes that another one is theirs.
        """
        del notes
        planned, now = base.get("created"), state.get("created")
        if not planned or not now or same_moment(str(planned), str(now)):
            return ""
        kind = step.subject.kind
        return f"the {kind} was deleted and created again: it was created at {now}, not at {planned}"

    async def write(self, run: StepContext, before: Json) -> Json:
        """Send the requests; the last reply goes into the journal. `before` is what `look` showed last."""
        return await run.send(self.requests(run.step, before))

    @abstractmethod
    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """What is still missing for the step to have taken effect; empty when it has. Asked again until then."""

    def broken(self, step: Step, before: Json, state: Json) -> str:
        """What the write did beside what was planned; empty when nothing. Ends the waiting: the step has failed."""
        del step, before, state
        return ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Take it back; doing so twice is no harm. Raises RefusedError where that would do harm, or cannot be done."""
        del before
        raise StepRefusedError(f"{run.step.action} cannot be taken back")

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """What differs from `before` after `undo`, in words; empty when nothing does."""
        del step, before, state
        return ""
