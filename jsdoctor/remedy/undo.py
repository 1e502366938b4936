"""Taking steps back: one that failed its proof, or all of a journal, last one first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.journal import Event, Journal
from jsdoctor.remedy.operation import Api, ApiError, DeniedError, LostError, Operation, RefusedError, Run, SilentError
from jsdoctor.remedy.outcome import Ending, Outcome
from jsdoctor.remedy.patience import Patience, is_transient, look

_PATIENCE_S = 30


class Undoer:
    """Takes steps of one journal back. What cannot be taken back is said, and does not stop the others."""

    def __init__(
        self, journal: Journal, operations: Mapping[str, Operation], api: Api, say: Callable[[str], None]
    ) -> None:
        self._journal, self._operations, self._api, self._say = journal, operations, api, say

    def run_of(self, step: Step) -> Run:
        """What an operation gets."""

        def note(kind: str, data: Json) -> None:
            self._journal.append(Event.NOTE, step, kind=kind, data=data)

        notes = self._journal.past(step).notes
        return Run(step, self._api, note, notes, self._journal.path.parent, self._say)

    async def all(self, steps: Iterable[Step]) -> list[Outcome]:
        """Every step that may have written something, last one first. Raises SilentError when nobody answers."""
        return [await self.one(step) for step in reversed(list(steps)) if self._journal.past(step).may_have_written]

    async def one(self, step: Step) -> Outcome:
        """Raises SilentError, LostError: then it can be tried again."""
        operation = self._operations[step.operation]
        past = self._journal.past(step)
        before = past.before or {}
        if not operation.reversible:
            return Outcome(step, Ending.KEPT, f"{step.action} cannot be taken back, and left no configuration behind")
        self._say(f"taking back step {step.id}: {step.action} of {step.subject.label}")
        self._journal.append(Event.UNDO, step)
        try:
            left = await self._restore(operation, step, before)
        except (RefusedError, ApiError, DeniedError) as error:
            self._journal.append(Event.NOT_UNDONE, step, str(error))
            return Outcome(step, Ending.NOT_UNDONE, str(error))
        if left:
            self._journal.append(Event.NOT_UNDONE, step, left)
            return Outcome(step, Ending.NOT_UNDONE, f"still different from before: {left}")
        self._journal.append(Event.UNDONE, step)
        return Outcome(step, Ending.UNDONE, "everything of it is as before")

    async def _restore(self, operation: Operation, step: Step, before: Json) -> str:
        """Undo, and look until it shows. What still differs when patience ends."""
        patience = Patience(max(_PATIENCE_S, step.patience_s))
        while True:
            try:
                await operation.undo(self.run_of(step), before)
                break
            except LostError:
                raise
            except SilentError:
                if not await patience.more():
                    raise
            except ApiError as error:
                if not is_transient(error) or not await patience.more():
                    raise
        while left := operation.not_undone(step, before, await look(operation, step, self._api, patience)):
            if not await patience.more():
                break
        return left
