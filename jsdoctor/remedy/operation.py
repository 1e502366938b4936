"""What an operation is: how a step looks at its asset, writes, sees that the effect is there, and takes it back.

Every operation is registered under the name that steps carry in `operation`. All of it must be safe to repeat: a
process that was killed at any point is followed by another that looks again and goes on.

    class DeleteMessage(Operation):
        name = "message.delete"
        async def look(self, step, api): ...
        def standing(self, step, state): ...
        async def write(self, run, before): ...
        def awaited(self, step, before, state): ...

    register(DeleteMessage())
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import msgspec

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.moment import same_moment

if TYPE_CHECKING:
    from nats.aio.client import Client


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


class Api(Protocol):
    """Requests through the connection of this run. The prefix of the JetStream API is put before `subject`.

    `ask` raises ApiError, DeniedError, SilentError or LostError; so does `request`, which takes a whole subject and
    returns the reply's JSON whatever is in it. `client` is for what is no request (flow of a snapshot's chunks).
    """

    @property
    def client(self) -> Client:
        """The client of nats-py."""

    @property
    def prefix(self) -> str:
        """Of the JetStream API, without a final dot."""

    @property
    def timeout_s(self) -> float:
        """Longest wait for one answer."""

    async def ask(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request of the JetStream API that must succeed."""

    async def request(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request to any subject."""


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

    @abstractmethod
    async def write(self, run: StepContext, before: Json) -> Json:
        """Do it; the reply goes into the journal. `before` is what `look` showed last, which nobody changed since."""

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


_MODULES = (
    "config",
    "leader",
    "consumer",
    "backup",
    "messages",
    "dead_letters",
    "position",
    "peers",
)
_registry: dict[str, Operation] = {}


def register(operation: Operation) -> None:
    """Make an operation known under its name."""
    _registry[operation.name] = operation


def load_operations() -> dict[str, Operation]:
    """All operations by name."""
    for module in _MODULES:
        importlib.import_module(f"jsdoctor.remedy.operations.{module}")
    return dict(_registry)
