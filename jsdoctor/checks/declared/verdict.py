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
    wrong = [_mistake(mistake) for mistake in asset.mistakes if not mistake.ignored]
    if wrong:
        reasons = _led(f"{asset.tool} will refuse it", wrong)
    else:
        reasons = _led(
            "the server will refuse it", [_refusal(asset, refusal) for refusal in certain(refusals, release)]
        )
    left_out = [mistake for mistake in asset.mistakes if mistake.ignored]
    lost = [*(_mistake(mistake) for mistake in left_out), *(_refusal(asset, refusal) for refusal in dropped)]
    if reasons:
        return _finding(asset, [*reasons, *lost], Severity.ERROR)
    if lost:
        sure = dropped or not all(mistake.unsure for mistake in left_out)
        return _finding(asset, lost, Severity.WARNING if sure else Severity.INFO)
    some = [
        (f"{refusal.releases} will refuse it: {refusal.text}", shown(asset, refusal))
        for refusal in possible(refusals, release)
    ]
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
    return [(f"{opening}: {text}" if number == 0 else text, seen) for number, (text, seen) in enumerate(reasons)]


def _finding(asset: DeclaredStream | DeclaredConsumer, reasons: Sequence[_Reason], severity: Severity) -> Finding:
    return Finding(
        subject=asset.subject,
        severity=severity,
        message="; ".join(dict.fromkeys(text for text, _ in reasons)),
        evidence=tuple(seen for _, seen in reasons),
        remedy=BY_HAND,
    )
