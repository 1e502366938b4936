"""One finding for a declared stream or consumer that is refused or partly dropped, with all reasons."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.checks.declared.doubts import BY_HAND
from jsdoctor.checks.declared.refusal import ServerRefusal, certain, possible
from jsdoctor.model.finding import Finding, Observation, Severity
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Mistake

_Reason = tuple[str, Observation]


def verdict(
    asset: DeclaredStream | DeclaredConsumer,
    refusals: Sequence[ServerRefusal],
    dropped: Sequence[ServerRefusal],
    release: tuple[int, ...],
) -> Finding | None:
    """What its tool refuses, else what the server does; then what is dropped; then what only some servers refuse.

    `release` is that of the server, empty where it is not known. None: nothing of all that.
    """
    wrong = [_mistake(one) for one in asset.mistakes if not one.ignored]
    if wrong:
        reasons = _led(f"{asset.tool} will refuse it", wrong)
    else:
        reasons = _led("the server will refuse it", [_refusal(asset, one) for one in certain(refusals, release)])
    left_out = [one for one in asset.mistakes if one.ignored]
    lost = [*(_mistake(one) for one in left_out), *(_refusal(asset, one) for one in dropped)]
    if reasons:
        return _finding(asset, [*reasons, *lost], Severity.ERROR)
    if lost:
        sure = dropped or not all(one.unsure for one in left_out)
        return _finding(asset, lost, Severity.WARNING if sure else Severity.INFO)
    some = [(f"{one.releases} will refuse it: {one.text}", shown(asset, one)) for one in possible(refusals, release)]
    return _finding(asset, some, Severity.INFO) if some else None


def shown(asset: DeclaredStream | DeclaredConsumer, refusal: ServerRefusal) -> Observation:
    """A reason at the line of its field."""
    return asset.at(refusal.field).shows(refusal.says)


def _refusal(asset: DeclaredStream | DeclaredConsumer, refusal: ServerRefusal) -> _Reason:
    return refusal.text, shown(asset, refusal)


def _mistake(mistake: Mistake) -> _Reason:
    return mistake.says, mistake.place.shows(mistake.says)


def _led(opening: str, reasons: Sequence[_Reason]) -> list[_Reason]:
    """The verdict before the first reason."""
    return [(f"{opening}: {says}" if number == 0 else says, seen) for number, (says, seen) in enumerate(reasons)]


def _finding(asset: DeclaredStream | DeclaredConsumer, reasons: Sequence[_Reason], severity: Severity) -> Finding:
    return Finding(
        subject=asset.subject,
        severity=severity,
        message="; ".join(says for says, _ in reasons),
        evidence=tuple(seen for _, seen in reasons),
        remedy=BY_HAND,
    )
