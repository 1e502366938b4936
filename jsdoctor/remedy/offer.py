"""From findings to offers: the commands of each rule's remedy action, written for the finding's subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from jsdoctor.model.finding import Offer, Outcome, Subject
from jsdoctor.model.report import Result
from jsdoctor.remedy.family import Action

_ASSETS = ("stream", "consumer")


def with_offers(results: Iterable[Result], actions: Callable[[], Mapping[str, Action]]) -> tuple[Result, ...]:
    """The same results, failed ones with their rule's remedy attached. Where nothing failed, no action is loaded.

    A check may name another action than its page does (`remedy={"action": ...}`) where the remedy depends on what it
    found; that action is of the same closed set.
    """
    return tuple(_offer(result, actions) for result in results)


def _fits(name: str, subject: Subject) -> bool:
    """Whether the commands fit the subject: for example, logs of clients may concern a stream whose name is unknown."""
    return subject.kind in _ASSETS if name.partition(".")[0] in _ASSETS else True


def _offer(result: Result, actions: Callable[[], Mapping[str, Action]]) -> Result:
    if result.rule.remedy is None or result.finding.outcome is not Outcome.FAIL:
        return result
    name = result.finding.remedy.get("action", result.rule.remedy.action)
    action = actions()[name if _fits(name, result.finding.subject) else "none"]
    commands = action.commands(result.finding.subject, result.finding.remedy)
    return msgspec.structs.replace(result, remedy=Offer(action.name, action.risk.value, commands))
