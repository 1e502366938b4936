"""One case of a rule, whatever its evidence: what it expects, and what the rule found, written alike."""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jsdoctor.model.finding import Outcome, Severity, Subject
from jsdoctor.model.report import Result
from tests.support.ruleset import rules

Entry = dict[str, str]
"""Subject, severity and outcome of one result."""
Case = dict[str, Any]

KINDS = ("fires", "silent", "below", "above", "fixed", "unknown")
_RULES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
_OWN = {"kind", "about", "expect"}
"""What a case never has from the one that it is like."""


@cache
def listed(code: str, table: str = "case") -> list[Case]:
    """The cases of one rule in one of the tables of its file."""
    path = _RULES / code / "cases.toml"
    return in_full(tomllib.loads(path.read_text("utf-8")).get(table, [])) if path.exists() else []


def in_full(cases: Iterable[Case]) -> list[Case]:
    """Cases with all that they have from others: `like` names an earlier one by its `about`.

    Edits of the case follow those of the other, and its parameters replace them. Of several recordings the first is
    taken.
    """
    whole: list[Case] = []
    for case in cases:
        other = next((earlier for earlier in whole if earlier["about"] == case["like"]), None) if "like" in case else {}
        assert other is not None, f"no case before it is named {case['like']!r}"
        whole.append(_like(other, case))
    return whole


def _like(other: Case, case: Case) -> Case:
    shared = {key: value for key, value in other.items() if key not in _OWN}
    if isinstance(base := shared.get("base"), list):
        shared["base"] = base[0]
    joined = {
        "edit": [*shared.get("edit", []), *case.get("edit", [])],
        "params": shared.get("params", {}) | case.get("params", {}),
    }
    return shared | case | {key: value for key, value in joined.items() if value}


def label(subject: Subject) -> str:
    """A subject as cases write it: its parts joined by slashes."""
    return "/".join(part for part in (subject.account, subject.stream, subject.name) if part) or subject.kind


def loud(results: Iterable[Result]) -> list[tuple[str, str, str]]:
    """Rule, subject and message of what fails as a warning or worse, and of each check that crashed."""
    return [
        (result.rule.code, label(result.finding.subject), result.finding.message)
        for result in results
        if result.finding.outcome is Outcome.ERROR
        or (result.finding.outcome is Outcome.FAIL and result.severity.rank >= Severity.WARNING.rank)
    ]


def entries_of(results: Iterable[Result]) -> list[Entry]:
    """What a rule found, in the order of `expected`."""
    return in_order(
        {"subject": label(r.finding.subject), "severity": r.severity.value, "outcome": r.finding.outcome.value}
        for r in results
    )


def expected(code: str, case: dict[str, Any]) -> list[Entry]:
    """What the case says that the rule finds. Without a severity the rule's own, without an outcome a failure."""
    rule = next(rule for rule in rules() if rule.code == code)
    return in_order(
        {
            "subject": entry["subject"],
            "severity": entry.get("severity", rule.severity.value),
            "outcome": entry.get("outcome", "fail"),
        }
        for entry in case.get("expect", [])
    )


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Sorted, so that lists of entries can be compared."""
    return sorted(entries, key=str)
