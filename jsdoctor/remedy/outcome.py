"""How steps ended, for the person and for the exit code."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from jsdoctor.model.plan import AssetLoss, Step


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
