"""What manifests would change in a deployment: one step for each stream or consumer, in the order to apply them."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import msgspec

from jsdoctor.model.finding import Subject


class ChangeAction(StrEnum):
    """What happens to a stream or consumer. `UNCLEAR`: the evidence does not tell."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    UNCLEAR = "unclear"


class FieldChange(msgspec.Struct, frozen=True):
    """One field of a configuration, by its name in the server's JSON. `before` is empty for what is created."""

    field: str
    before: str
    after: str


class ChangeStep(msgspec.Struct, frozen=True, kw_only=True):
    """One stream or consumer that changes, and the line of the manifest that declares it.

    `messages` is what the stream stores now (None: not known, or a consumer). `at_stake` says what of it is deleted;
    empty: nothing. `reason` says why the step has its place in the order, or why the action is unclear.
    """

    subject: Subject
    action: ChangeAction
    file: str
    line: int
    fields: tuple[FieldChange, ...] = ()
    messages: int | None = None
    at_stake: str = ""
    reason: str = ""


class ManifestChange(msgspec.Struct, frozen=True, kw_only=True):
    """All steps in the order to apply them; `unchanged` counts what is deployed as declared.

    `undeclared` are deployed streams, and durable consumers of declared streams, that no manifest has.
    `incomplete` says why there may be more of them; empty: the list is complete.
    """

    steps: tuple[ChangeStep, ...]
    unchanged: int = 0
    undeclared: tuple[Subject, ...] = ()
    incomplete: str = ""

    @property
    def differs(self) -> bool:
        """Whether the deployment is certain to differ from the manifests."""
        return bool(self.undeclared) or any(step.action is not ChangeAction.UNCLEAR for step in self.steps)

    def words(self) -> str:
        """The change in one line: `1 create, 2 update, 3 unchanged, 1 deployed and in no manifest`."""
        counts = Counter(step.action for step in self.steps)
        parts = [f"{counts[action]:,} {action}" for action in ChangeAction if counts[action]]
        parts.append(f"{self.unchanged:,} unchanged")
        if self.undeclared or self.incomplete:
            least = "at least " if self.incomplete else ""
            parts.append(f"{least}{len(self.undeclared):,} deployed and in no manifest")
        return ", ".join(parts)

    def lines(self) -> list[str]:
        """Each difference in one line: the steps in their order, then what no manifest has."""
        steps = [
            f"{step.action} {step.subject.label}"
            + (f" ({', '.join(field.field for field in step.fields)})" if step.action is ChangeAction.UPDATE else "")
            for step in self.steps
        ]
        return [*steps, *(f"in no manifest: {subject.label}" for subject in self.undeclared)]
