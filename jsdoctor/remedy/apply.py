"""Applies a plan step by step: read the state, write, wait for the effect, prove that the finding is gone, else undo.

Every step can be repeated: the state that a killed process left is read before anything is written again. The first
step that fails ends the run; those after it are not begun.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from jsdoctor.model.plan import AssetLoss, Json, Step
from jsdoctor.remedy.api import ApiError, DeniedError, LostError, NoResponseError, RetryLimit, StepApis, is_transient
from jsdoctor.remedy.backup.former import is_putting_back
from jsdoctor.remedy.journal import Journal, JournalEvent, Past
from jsdoctor.remedy.operation import JournalNote, Operation, Standing, StepContext, StepRefusedError, stream_of
from jsdoctor.remedy.preconditions import unmet
from jsdoctor.remedy.proof import IMPROVEMENTS, Examine, ProofResult, ProofVerdict, together
from jsdoctor.remedy.registry import load_operations


class Ending(StrEnum):
    """How one step ended. The last three leave something for a person to look at."""

    VERIFIED = "verified"
    ALREADY = "nothing to do"
    MANUAL = "for a person"
    NOT_ALLOWED = "not allowed"
    BLOCKED = "not begun"
    UNPROVED = "done, not proved"
    NOT_BETTER = "applied, not better"
    UNDONE = "taken back"
    KEPT = "kept"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_UNDONE = "not taken back"


_TO_PROVE = (JournalEvent.UNPROVED, JournalEvent.NOT_BETTER)
"""Last lines of steps that were written and whose proof is repeated by a resumed run."""
_UNDO_BEGUN = (JournalEvent.UNDO, JournalEvent.NOT_UNDONE)
_STARTED = (JournalEvent.BEGIN, JournalEvent.WRITTEN, *_TO_PROVE, JournalEvent.FAILED, *_UNDO_BEGUN)
_NOTHING_TO_PROVE = ProofVerdict(ProofResult.GONE, "it is as it should be")
_UNDO_PATIENCE_S = 30
GOOD = frozenset({Ending.VERIFIED, Ending.ALREADY})
"""Endings after which a step that needs this one may be taken."""
_DONE = frozenset({Ending.VERIFIED, Ending.UNPROVED, Ending.FAILED, Ending.NOT_UNDONE, Ending.KEPT, Ending.NOT_BETTER})
_BAD = frozenset({Ending.NOT_BETTER, Ending.REFUSED, Ending.FAILED, Ending.NOT_UNDONE, Ending.BLOCKED})


class StepOutcome(msgspec.Struct, frozen=True):
    """The end of one step, with the reason. `failure` is the error of a step that was undone because it failed."""

    step: Step
    ending: Ending
    text: str = ""
    failure: str = ""

    @property
    def losses(self) -> tuple[AssetLoss, ...]:
        """What was lost for good, if the step was or may have been done."""
        return self.step.losses if self.ending in _DONE else ()

    @property
    def is_bad(self) -> bool:
        """Whether the step did not do what it should."""
        return self.ending in _BAD or bool(self.failure)


def any_bad(outcomes: Iterable[StepOutcome]) -> bool:
    """Whether any step failed, was refused or had to be taken back."""
    return any(outcome.is_bad for outcome in outcomes)


class Undoer:
    """Undoes steps of one journal. A step that cannot be undone is reported and does not stop the others."""

    def __init__(self, journal: Journal, apis: StepApis, say: Callable[[str], None]) -> None:
        self._journal, self._apis, self._say = journal, apis, say
        self._operations = load_operations()

    async def _state(self, operation: Operation, step: Step, limit: RetryLimit) -> Json:
        """The state of the asset, requested until a server responds.

        Raises StepRefusedError if it cannot be read, DeniedError, LostError; NoResponseError when the time is over.
        """
        try:
            return await limit.answered(lambda: operation.read_state(step, self._apis.of(step)))
        except ApiError as error:
            if is_transient(error):
                raise NoResponseError(str(error)) from None
            raise StepRefusedError(str(error)) from None

    def _context_of(self, step: Step, *, on_request: bool = False) -> StepContext:
        """The context for an operation: its `note` appends to the journal."""
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

    async def undo_all(self, steps: Iterable[Step]) -> list[StepOutcome]:
        """Undo every step that may have written, last one first. Raises NoResponseError if no server responds."""
        begun = [step for step in reversed(list(steps)) if self._journal.past(step).may_have_written]
        return [await self.undo(step, on_request=True) for step in begun]

    async def undo(self, step: Step, *, on_request: bool = False) -> StepOutcome:
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
        limit = RetryLimit(max(_UNDO_PATIENCE_S, step.patience_s))

        async def taken_back() -> None:
            run = self._context_of(step, on_request=on_request)
            if not self._recreated_here(step):
                now = await self._state(operation, step, limit)
                if reason := operation.replaced(step, before, now, run.notes):
                    raise StepRefusedError(reason)
            await operation.undo(run, before)

        await limit.answered(taken_back)
        while left := operation.not_undone(step, before, await self._state(operation, step, limit)):
            if not await limit.more():
                break
        return left

    def _recreated_here(self, step: Step) -> bool:
        """Whether a step of this journal recreated the asset or its stream: a later creation time is then correct."""
        for other in self._journal.plan.steps:
            notes = self._journal.past(other).notes
            operation = self._operations.get(other.operation)  # none of a step that a person takes
            same = operation and operation.recreates and other.subject == step.subject and notes
            if same or (stream_of(other.subject) == stream_of(step.subject) and is_putting_back(notes)):
                return True
        return False


class Applier(Undoer):
    """Applies the plan of one journal, each step through the login that it is for."""

    def __init__(self, journal: Journal, apis: StepApis, say: Callable[[str], None], examine: Examine) -> None:
        super().__init__(journal, apis, say)
        self._examine = examine

    async def all(self, steps: Sequence[Step], allowed: Collection[str]) -> list[StepOutcome]:
        """Apply every step in order. Raises NoResponseError, LostError, JournalError; the journal stays valid."""
        gone = await self._resolved_by_id(steps, allowed)
        outcomes: dict[str, StepOutcome] = {}
        stopped = ""
        for step in steps:
            if stopped and not step.is_manual:
                outcomes[step.id] = StepOutcome(step, Ending.BLOCKED, f"step {stopped} failed")
                continue
            was_over = self._journal.past(step).is_over
            not_begun = self._outcome_without_writing(step, allowed, gone, outcomes)
            outcome = not_begun or await self._apply(step)
            outcomes[step.id] = outcome
            # What an earlier run took back stops nothing that is resumed, nor does what did no harm, or was not begun.
            if outcome.is_bad and not (was_over or not_begun) and outcome.ending is not Ending.NOT_BETTER:
                stopped = stopped or step.id
        return list(outcomes.values())

    async def _resolved_by_id(self, steps: Sequence[Step], allowed: Collection[str]) -> dict[str, str]:
        """Collect evidence, and return the steps not yet begun whose findings are gone: by id, with the reason."""
        ours = [step for step in steps if step.risk in allowed and not step.is_manual]
        fresh = [step for step in ours if self._journal.past(step).last not in _STARTED]
        proofs = list(dict.fromkeys(proof for step in fresh for proof in step.proofs))
        if not proofs:
            return {}
        self._say("looking whether the findings are still there")
        verdicts = await self._examine(proofs)
        resolved = {}
        for step in fresh:
            sharing_findings = [s for s in fresh if s.proofs and set(s.findings) & set(step.findings)]
            proofs = list(step.proofs) or [proof for other in sharing_findings for proof in other.proofs]
            proof_verdict = together(proofs, verdicts)
            if proofs and proof_verdict.finds is ProofResult.GONE:
                resolved[step.id] = proof_verdict.text
        return resolved

    def _outcome_without_writing(
        self, step: Step, allowed: Collection[str], gone: Mapping[str, str], outcomes: Mapping[str, StepOutcome]
    ) -> StepOutcome | None:
        """The outcome of a step that this run does not apply; None: it is to be applied. May write `SKIPPED`."""
        past = self._journal.past(step)
        if step.is_manual:
            return StepOutcome(step, Ending.MANUAL, "; then ".join(step.commands) or step.effect)
        if past.is_over:
            ending = Ending.ALREADY if past.last is JournalEvent.VERIFIED else Ending.UNDONE
            failure = past.failure if ending is Ending.UNDONE else ""
            return StepOutcome(step, ending, past.text or "an earlier run has done it", failure)
        if step.risk not in allowed:
            return StepOutcome(step, Ending.NOT_ALLOWED, f"it is {step.risk.value}: --allow {step.risk.value}")
        if step.operation not in self._operations:
            return StepOutcome(step, Ending.REFUSED, f"this version knows no operation {step.operation!r}")
        if self._apis.lacks(step) and past.last not in _TO_PROVE:
            return StepOutcome(step, Ending.REFUSED, f"it is for a login of account {step.subject.account}")
        if step.id in gone:
            self._journal.append(JournalEvent.SKIPPED, step, gone[step.id])
            return StepOutcome(step, Ending.ALREADY, gone[step.id])
        lacking = [need for need in step.needs if need not in outcomes or outcomes[need].ending not in GOOD]
        return StepOutcome(step, Ending.BLOCKED, f"it needs step {', '.join(lacking)} first") if lacking else None

    async def _apply(self, step: Step) -> StepOutcome:
        """Continue a step from its last journal line: write, wait for the effect, prove; undo it if that fails."""
        self._say(f"step {step.id}: {step.action} of {step.subject.label}")
        operation, past = self._operations[step.operation], self._journal.past(step)
        if past.last in _TO_PROVE:
            return await self._prove(operation, step)  # the proof does not depend on the account of the login
        if past.last in _UNDO_BEGUN or (
            past.last is JournalEvent.FAILED and past.before is not None and operation.reversible
        ):
            return await self._undo_failed(step, past.failure or past.text or "an earlier run did not prove it")
        try:
            written = (
                await self._write(operation, step, past) if past.last is not JournalEvent.WRITTEN else past.before or {}
            )
        except StepRefusedError as error:
            if self._journal.past(step).before is None:
                self._journal.append(JournalEvent.SKIPPED, step, str(error))
                return StepOutcome(step, Ending.REFUSED, str(error))
            return await self._fail(operation, step, str(error))
        except (ApiError, DeniedError) as error:
            if self._journal.past(step).before is None:
                return StepOutcome(step, Ending.FAILED, str(error))
            return await self._fail(operation, step, str(error))
        if isinstance(written, StepOutcome):
            return written
        try:
            if problem := await self._settle(operation, step, written, resumed=past.last is not None):
                return await self._fail(operation, step, problem)
        except (StepRefusedError, DeniedError) as error:
            return await self._fail(operation, step, str(error))
        return await self._prove(operation, step)

    async def _write(self, operation: Operation, step: Step, past: Past) -> Json | StepOutcome:
        """Write the step, with journal lines before and after; returns the state before, or the outcome if it was done.
        Raises StepRefusedError, ApiError, DeniedError, NoResponseError.
        """
        limit = RetryLimit(step.patience_s)
        state = await self._state(operation, step, limit)
        begun = past.last is JournalEvent.BEGIN and past.before is not None
        before = past.before if begun and past.before is not None else state
        if reason := operation.replaced(step, before if begun else step.base, state, past.notes):
            raise StepRefusedError(reason)
        standing, why = (
            operation.interrupted(step, before, state, past.notes) if begun else operation.standing(step, state)
        )
        if standing is Standing.DRIFTED:
            raise StepRefusedError(why)
        if standing is Standing.DONE and not begun:
            self._journal.append(JournalEvent.SKIPPED, step, why)
            return StepOutcome(step, Ending.ALREADY, why)
        if standing is Standing.AS_PLANNED:
            if not begun:
                if reason := unmet(step.preconditions, state):
                    raise StepRefusedError(reason)
                self._journal.append(JournalEvent.BEGIN, step, before=before)
            reply = await self._send(operation, step, before, limit)
            self._journal.append(JournalEvent.WRITTEN, step, data=reply)
        else:
            self._journal.append(JournalEvent.WRITTEN, step, "an earlier run has written it")
        return before

    async def _send(self, operation: Operation, step: Step, before: Json, limit: RetryLimit) -> Json:
        """Write; retry if the server could not accept it, and after a missing reply if the state is unchanged."""
        while True:
            try:
                return await operation.write(self._context_of(step), before)
            except LostError:
                raise
            except ApiError as error:
                if not is_transient(error) or not await limit.more():
                    raise
            except NoResponseError:
                if not await limit.more():
                    raise
                state = await self._state(operation, step, limit)
                if not operation.awaited(step, before, state):
                    return {}

    async def _settle(self, operation: Operation, step: Step, before: Json, *, resumed: bool) -> str:
        """Wait for the effect of a write; returns the problem if it does not show in time, empty once it does.

        Other changes since an earlier run are not necessarily the result of its write.
        """
        limit = RetryLimit(step.patience_s)
        while True:
            state = await self._state(operation, step, limit)
            if not resumed and (problem := operation.broken(step, before, state)):
                return problem
            if not (missing := operation.awaited(step, before, state)):
                return ""
            self._say(f"step {step.id}: waiting: {missing}")
            if not await limit.more():
                return missing

    async def _prove(self, operation: Operation, step: Step) -> StepOutcome:
        """Evaluate the same rules on fresh evidence, and what had to improve, repeatedly until both are better."""
        limit = RetryLimit(step.patience_s)
        while True:
            if step.proofs:
                self._say(f"step {step.id}: checking whether the finding is resolved")
            rule = together(step.proofs, await self._examine(step.proofs)) if step.proofs else _NOTHING_TO_PROVE
            helped = await self._improved(operation, step)
            if {rule.finds, helped.finds} == {ProofResult.GONE} or not await limit.more():
                break
        if rule.finds is ProofResult.THERE:
            return await self._fail(operation, step, f"it did not help: {rule.text}")
        if helped.finds is ProofResult.THERE:
            look_at = IMPROVEMENTS[step.improvement].look_at
            text = f"{helped.text}, {step.patience_s} s after it was applied: {look_at}"
            self._journal.append(JournalEvent.NOT_BETTER, step, text)
            return StepOutcome(step, Ending.NOT_BETTER, text)
        unknown = [verdict.text for verdict in (rule, helped) if verdict.finds is ProofResult.UNKNOWN]
        event, ending = (
            (JournalEvent.UNPROVED, Ending.UNPROVED) if unknown else (JournalEvent.VERIFIED, Ending.VERIFIED)
        )
        text = "; ".join(unknown) or "; ".join(verdict.text for verdict in (rule, helped) if verdict.text)
        self._journal.append(event, step, text)
        return StepOutcome(step, ending, text)

    async def _improved(self, operation: Operation, step: Step) -> ProofVerdict:
        """The verdict of the step's improvement on the states before and now; GONE if nothing had to improve."""
        improvement, before = IMPROVEMENTS.get(step.improvement), self._journal.past(step).before or {}
        if improvement is None or not improvement.suffers(before):
            return ProofVerdict(ProofResult.GONE)
        if self._apis.lacks(step):
            return ProofVerdict(
                ProofResult.UNKNOWN, f"a login of account {step.subject.account} shows whether it helped"
            )
        now = await self._state(operation, step, RetryLimit(step.patience_s))
        return improvement.judge(before, now)

    async def _fail(self, operation: Operation, step: Step, why: str) -> StepOutcome:
        self._journal.append(JournalEvent.FAILED, step, why)
        if not operation.reversible:
            return StepOutcome(step, Ending.FAILED, why)
        if self._apis.lacks(step):
            return StepOutcome(step, Ending.FAILED, f"{why}; a login of account {step.subject.account} can undo it")
        return await self._undo_failed(step, why)

    async def _undo_failed(self, step: Step, why: str) -> StepOutcome:
        return msgspec.structs.replace(await self.undo(step), failure=why)
