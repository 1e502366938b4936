"""Undoes steps: one that failed its proof, or all of a journal, last one first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.backup.former import is_putting_back
from jsdoctor.remedy.journal import Journal, JournalEvent
from jsdoctor.remedy.operation import (
    ApiError,
    DeniedError,
    JournalNote,
    LostError,
    NoResponseError,
    Operation,
    StepApis,
    StepContext,
    StepRefusedError,
)
from jsdoctor.remedy.outcome import Ending, StepOutcome
from jsdoctor.remedy.retry_limit import RetryLimit, is_transient, read_state

_PATIENCE_S = 30


class Undoer:
    """Undoes steps of one journal. A step that cannot be undone is reported and does not stop the others."""

    def __init__(
        self, journal: Journal, operations: Mapping[str, Operation], apis: StepApis, say: Callable[[str], None]
    ) -> None:
        self._journal, self._operations, self._apis, self._say = journal, operations, apis, say

    def run_of(self, step: Step, *, on_request: bool = False) -> StepContext:
        """The context for an operation."""
        written: list[JournalNote] = []

        def note(kind: str, data: Json) -> None:
            self._journal.append(JournalEvent.NOTE, step, kind=kind, data=data)
            written.append(JournalNote(kind, data))

        needed = [other for other in self._journal.plan.steps if other.id in step.needs]
        return StepContext(
            step,
            self._apis.of(step),
            note,
            notes=self._journal.past(step).notes,
            written=written,
            needed=tuple(note for other in needed for note in self._journal.past(other).notes),
            directory=self._journal.path.parent,
            say=self._say,
            on_request=on_request,
        )

    async def all(self, steps: Iterable[Step]) -> list[StepOutcome]:
        """Undo every step that may have written, last one first. Raises NoResponseError if no server responds."""
        begun = [step for step in reversed(list(steps)) if self._journal.past(step).may_have_written]
        return [await self.one(step, on_request=True) for step in begun]

    async def one(self, step: Step, *, on_request: bool = False) -> StepOutcome:
        """Undo one step. After NoResponseError or LostError, retry it. `on_request`: see `StepContext`."""
        operation = self._operations.get(step.operation)
        if operation is None:
            return StepOutcome(step, Ending.NOT_UNDONE, f"this version knows no operation {step.operation!r}")
        past = self._journal.past(step)
        before = past.before or {}
        if not operation.reversible:
            return StepOutcome(
                step, Ending.KEPT, f"{step.action} cannot be taken back, and left no configuration behind"
            )
        self._say(f"taking back step {step.id}: {step.action} of {step.subject.label}")
        self._journal.append(JournalEvent.UNDO, step)
        try:
            left = await self._restore(operation, step, before, on_request=on_request)
        except (StepRefusedError, ApiError, DeniedError) as error:
            self._journal.append(JournalEvent.NOT_UNDONE, step, str(error))
            return StepOutcome(step, Ending.NOT_UNDONE, str(error))
        if left:
            self._journal.append(JournalEvent.NOT_UNDONE, step, left)
            return StepOutcome(step, Ending.NOT_UNDONE, f"still different from before: {left}")
        self._journal.append(JournalEvent.UNDONE, step)
        return StepOutcome(step, Ending.UNDONE, "everything of it is as before")

    async def _restore(self, operation: Operation, step: Step, before: Json, *, on_request: bool) -> str:
        """Undo, and wait until the effect shows. Returns what still differs when the time is over."""
        limit = RetryLimit(max(_PATIENCE_S, step.patience_s))
        while True:
            try:
                await self._undo(operation, step, before, limit, on_request=on_request)
                break
            except LostError:
                raise
            except NoResponseError:
                if not await limit.more():
                    raise
            except ApiError as error:
                if not is_transient(error) or not await limit.more():
                    raise
        while left := operation.not_undone(step, before, await read_state(operation, step, self._apis.of(step), limit)):
            if not await limit.more():
                break
        return left

    async def _undo(
        self, operation: Operation, step: Step, before: Json, limit: RetryLimit, *, on_request: bool
    ) -> None:
        run = self.run_of(step, on_request=on_request)
        if not self._is_ours(step):
            now = await read_state(operation, step, self._apis.of(step), limit)
            if reason := operation.replaced(step, before, now, run.notes):
                raise StepRefusedError(reason)
        await operation.undo(run, before)

    def _is_ours(self, step: Step) -> bool:
        """Whether this journal has created the asset again: it is known then that it was created later."""
        for other in self._journal.plan.steps:
            notes = self._journal.past(other).notes
            operation = self._operations.get(other.operation)  # none of a step that a person takes
            same = operation and operation.recreates and other.subject == step.subject and notes
            if same or (_stream_of(other) == _stream_of(step) and is_putting_back(notes)):
                return True
        return False


def _stream_of(step: Step) -> tuple[str, str]:
    subject = step.subject
    return subject.account, subject.stream if subject.kind == "consumer" else subject.name
