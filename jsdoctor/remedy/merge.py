"""Steps of one operation on one asset: the same ones become one, larger limits win, contradictions are refused."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jsdoctor.model.plan import Change, Step, UnplannedFinding
from jsdoctor.remedy.settings import told


def merged(steps: Sequence[Step], new: Step, code: str) -> tuple[list[Step], UnplannedFinding | str]:
    """The steps with the new one in or beside them, and the id that it has there; or without it, and why."""
    for place, known in enumerate(steps):
        if known.is_manual and known.commands != new.commands:
            continue
        both = _both(known.changes, new.changes)
        if both is None:
            return list(steps), UnplannedFinding(code, new.subject, _contradiction(known, new))
        if both or not (known.changes or new.changes):
            step = _joined(known, new, both)
            return [*steps[:place], step, *steps[place + 1 :]], step.id
    return [*steps, new], new.id


def _both(known: Sequence[Change], new: Sequence[Change]) -> tuple[Change, ...] | None:
    """Changes that do for both; empty when they touch different keys; None when they contradict each other."""
    ours, theirs = {c.key: c for c in known}, {c.key: c for c in new}
    if not ours.keys() & theirs.keys():
        return ()
    if ours.keys() != theirs.keys():
        return None
    settled = [_either(ours[key], theirs[key]) for key in ours]
    return tuple(change for change in settled if change) if all(settled) else None


def _either(first: Change, second: Change) -> Change | None:
    """The same, or the higher of two that both raise a limit."""
    if first.after == second.after:
        return first
    ends = (first.before, first.after, second.after)
    if all(isinstance(end, int) and not isinstance(end, bool) for end in ends) and min(ends[1:]) > max(ends[0], 0):
        return max(first, second, key=lambda change: change.after)
    return None


def _joined(known: Step, new: Step, changes: tuple[Change, ...]) -> Step:
    taken = new if changes and changes != known.changes else known
    return msgspec.structs.replace(
        taken,
        id=known.id,
        findings=tuple(dict.fromkeys((*known.findings, *new.findings))),
        proofs=tuple(dict.fromkeys((*known.proofs, *new.proofs))),
        changes=changes,
        needs=tuple(dict.fromkeys((*known.needs, *new.needs))),
        patience_s=max(known.patience_s, new.patience_s),
    )


def _contradiction(known: Step, new: Step) -> str:
    return f"it contradicts another step on the same {new.subject.kind}: {told(known.changes)}, not {told(new.changes)}"
