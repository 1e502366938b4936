"""From findings to offers: the commands of each rule's remedy action, written for the finding's subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Offer, Outcome, Subject
from jsdoctor.model.logins import Logins
from jsdoctor.model.plan import Step
from jsdoctor.model.report import Result
from jsdoctor.remedy.family import Action
from jsdoctor.remedy.possible import SeenState, is_refused

_ASSETS = ("stream", "consumer")
NOTHING = EvidenceSet({}, {})


def with_offers(
    results: Iterable[Result],
    actions: Callable[[], Mapping[str, Action]],
    evidence: EvidenceSet = NOTHING,
    logins: Logins | None = None,
) -> tuple[Result, ...]:
    """The same results, failed ones with their rule's remedy attached. Where nothing failed, no action is loaded.

    A check may name another action than its page does (`remedy={"action": ...}`) where the remedy depends on what it
    found; that action is of the same closed set. What the deployment would refuse in the state of the evidence is not
    offered. Each command has the flags of its login, or that login is named; None: neither.
    """
    state = SeenState(evidence)
    offered = (_offer(result, actions, state) for result in results)
    return tuple(offered if logins is None else (_with_login(result, logins) for result in offered))


_HoldsTextT = TypeVar("_HoldsTextT", bound=msgspec.Struct)


def flagged(value: _HoldsTextT, subject: Subject, logins: Logins) -> _HoldsTextT:
    """The same finding, gap or verdict: the commands in its texts lead to the login that can run them."""
    texts = {
        name: getattr(value, name) for name in ("message", "advice", "reason", "how_to_get") if hasattr(value, name)
    }
    changed = {name: new for name, text in texts.items() if (new := logins.flagged(text, subject)) != text}
    return msgspec.structs.replace(value, **changed) if changed else value


def _with_login(result: Result, logins: Logins) -> Result:
    subject, offer = result.finding.subject, result.remedy
    finding = flagged(result.finding, subject, logins)
    if offer is not None and offer.commands:
        commands, needed = _commands(offer.commands, subject, logins)
        offer = msgspec.structs.replace(offer, commands=commands, logins=needed)
    elif finding is result.finding:
        return result
    return msgspec.structs.replace(result, finding=finding, remedy=offer)


def step_with_login(step: Step, logins: Logins) -> Step:
    """The same step, its commands with the flags of the login that can run them, or with that login's name."""
    flags, needed = _commands(step.commands, step.subject, logins)
    return msgspec.structs.replace(step, commands=flags, logins=needed)


def _commands(commands: Iterable[str], subject: Subject, logins: Logins) -> tuple[tuple[str, ...], dict[str, str]]:
    """The commands with the flags of their logins, and by command the login that is missing."""
    led = {command: logins.flagged(command, subject) for command in commands}
    needed = {led[command]: login for command in led if (login := logins.needed(command, subject))}
    return tuple(led.values()), needed


def _fits(name: str, subject: Subject) -> bool:
    """Whether the commands fit the subject: for example, logs of clients may concern a stream whose name is unknown."""
    return subject.kind in _ASSETS if name.partition(".")[0] in _ASSETS else True


def _offer(result: Result, actions: Callable[[], Mapping[str, Action]], state: SeenState) -> Result:
    finding = result.finding
    if result.rule.remedy is None or finding.outcome is not Outcome.FAIL:
        return result
    name = finding.remedy.get("action", result.rule.remedy.action)
    action = actions()[name if _fits(name, finding.subject) else "none"]
    values, refusal = state.possible(finding.subject, finding.remedy)
    commands = action.commands(finding.subject, values)
    kept = tuple(command for command in commands if not is_refused(command, refusal))
    if values is not finding.remedy or kept != commands:
        advice = finding.advice if kept == commands else refusal
        finding = msgspec.structs.replace(finding, remedy=dict(values), advice=advice)
    return msgspec.structs.replace(result, finding=finding, remedy=Offer(action.name, action.risk.value, kept))
