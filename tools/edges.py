"""Where the result of a rule turns, written out to be read: `fixtures/rules/<CODE>/edges.txt`.

Some cases of each rule are searched: each parameter and each number and time of the evidence is moved until the outcome
changes, to the two adjacent values between which it does; and each field is left out, as by a server that does not know
it. The file has each such change, with what it adds to the results. `make golden` searches and writes these files; the
test makes the changes that the file lists.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from jsdoctor.engine.select import find_rule
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Result
from tests.support.evidence import FIXTURES
from tests.support.evidence_fields import Field, Fields
from tests.support.ruleset import checks, overrides, rules, run_with
from tools.golden_cases import DeclaredCase, declared_cases, in_the_repository

MAX_LINES = 8
"""Results of one change that are written out; more are counted."""
_YEAR_US = 365 * 86_400 * 1_000_000
_MAX_HALVES = 100
_HEAD = re.compile(r"(?P<case>.+?) \| (?P<place>.+?) = (?P<value>.+)")
_MIN_EXTREME = 10**15
"""Eleven days in nanoseconds."""
_FIELD = re.compile(r"(\w+)\.(\w+) of (first|last|all)")

_CRASH = "the check itself failed"
ABSENT = "absent"
"""Instead of a value: the field has its default."""

Outcomes = frozenset[tuple[str, ...]]
Edge = tuple[str, str, Any]
"""Title of the case, place and value."""
Run = Callable[[Any], tuple[Result, ...]]


class Tried:
    """A case of a rule, its results, and those after a change."""

    def __init__(self, code: str, case: DeclaredCase) -> None:
        rule = find_rule(rules(), code)
        self.code, self.params = code, overrides(code, case.declared.get("params"))
        self.defaults = {name: param.default for name, param in rule.params.items()} | self.params
        self.evidence = case.evidence()
        self.results = self._results(self.evidence, {})
        faults = {result.finding.subject for result in self.results if result.finding.outcome is Outcome.FAIL}
        kinds = {kind for name in rule.checks for kind in checks()[name].kinds} - {Gaps}
        self.fields = Fields(self.evidence, kinds, faults)
        self._changed: dict[tuple[str, str], EvidenceSet] = {}

    def _results(self, evidence: EvidenceSet, values: dict[str, Any]) -> tuple[Result, ...]:
        return run_with(self.code, evidence, self.params | values, keep_passes=True).results

    def changed(self, place: str, value: Any) -> tuple[Result, ...]:
        """The results with another value in one place: a parameter or a field."""
        if place in self.defaults:
            return self._results(self.evidence, {place: value})
        key = (place, repr(value))
        if key not in self._changed:
            field = _field(place)
            new = self.fields.default(field) if value == ABSENT else value
            self._changed[key] = self.fields.changed(field, new)
        return self._results(self._changed[key], {})

    def forget(self) -> None:
        """Free the changed evidence."""
        self._changed.clear()

    def section(self, place: str, value: Any) -> list[str]:
        """What the change adds to the results, and the subjects that have none any more."""
        before, now = (_lines(results) for results in (self.results, self.changed(place, value)))
        added = [f"  {line}" for subject, lines in now.items() for line in lines if line not in before.get(subject, ())]
        more = [f"  and {len(added) - MAX_LINES} more"] if len(added) > MAX_LINES else []
        gone = ", ".join(subject for subject in before if subject not in now)
        return [*added[:MAX_LINES], *more, *([f"  gone: {gone}"] if gone else ())]


def path_of(code: str) -> Path:
    """The golden file of a rule."""
    return FIXTURES / "rules" / code / "edges.txt"


def tried(code: str) -> dict[str, Tried]:
    """The cases of a rule that are searched, by title: of each kind of evidence the first and the last that fires, and
    the first that cannot be judged.
    """
    by_family: dict[str, list[DeclaredCase]] = {}
    for case in declared_cases(code):
        by_family.setdefault(case.family, []).append(case)
    chosen: dict[str, DeclaredCase] = {}
    for several in by_family.values():
        firing = [case for case in several if case.declared.get("kind") in ("fires", "above")]
        unjudged = [case for case in several if case.declared.get("kind") == "unknown"]
        chosen |= {case.title: case for case in (*firing[:1], *firing[-1:], *unjudged[:1])}
    return {title: Tried(code, case) for title, case in chosen.items()}


def edges_of(cases: Mapping[str, Tried]) -> Iterator[Edge]:
    """Search. Of fields that can be left out with one effect, only the first is an edge."""
    for title, case in cases.items():
        effects: set[tuple[str, ...]] = set()
        for place, value in _turns(case):
            effect = tuple(case.section(place, value))
            if _CRASH in str(effect) or (value == ABSENT and (not effect or effect in effects)):
                continue
            effects.add(effect)
            yield title, place, value
        case.forget()


def _turns(case: Tried) -> Iterator[tuple[str, Any]]:
    for name, default in case.defaults.items():
        if default is not None:
            yield from ((name, value) for value in _between(partial(case.changed, name), default))
    for field in case.fields:
        place = str(field)
        if field.which == "all":
            yield place, ABSENT
        else:
            yield from ((place, new) for new in _between(partial(case.changed, place), case.fields.value(field)))
        case.forget()


def _between(run: Run, start: object) -> Iterator[float]:
    """The adjacent values between which the outcome turns, on either side of the start."""
    extremes: tuple[float, float]
    if isinstance(start, datetime):
        start, extremes = 0, (-10 * _YEAR_US, 10 * _YEAR_US)
    elif isinstance(start, bool) or not isinstance(start, (int, float)):
        return
    else:
        extremes = (type(start)(0), type(start)(max(abs(start) * 10, _MIN_EXTREME)))
    base = _outcomes(run(start))
    for extreme in extremes:
        if _outcomes(run(extreme)) != base:
            yield from _turn(lambda value: _outcomes(run(value)) == base, start, extreme)


def _turn(is_same: Callable[[float], bool], same: float, other: float) -> tuple[float, float]:
    for _ in range(_MAX_HALVES):
        middle = (same + other) // 2 if isinstance(same, int) else (same + other) / 2
        if middle in (same, other):
            break
        if is_same(middle):
            same = middle
        else:
            other = middle
    return same, other


def _outcomes(results: Iterable[Result]) -> Outcomes:
    return frozenset((*_grade(result), _subject(result)) for result in results)


def _lines(results: Iterable[Result]) -> dict[str, list[str]]:
    lines_by_subject: dict[str, list[str]] = {}
    for result in sorted(results, key=lambda failure: (_subject(failure), failure.finding.message)):
        line = f"{' '.join(_grade(result))} {_subject(result)}: {result.finding.message}".removesuffix(": ")
        lines_by_subject.setdefault(_subject(result), []).append(in_the_repository(line))
    return lines_by_subject


def _grade(result: Result) -> tuple[str]:
    is_fault = result.finding.outcome is Outcome.FAIL
    return (result.severity.value if is_fault else result.finding.outcome.value,)


def _subject(result: Result) -> str:
    return in_the_repository(f"{result.finding.subject.kind} {result.finding.subject.label}")


def _field(place: str) -> Field:
    match = _FIELD.fullmatch(place)
    assert match, place
    return Field(*match.groups())


def written(code: str, cases: Mapping[str, Tried], edges: Iterable[Edge]) -> Iterator[str]:
    """The lines of the golden file with these changes."""
    yield f"# What becomes of {code} when one value changes. `make golden` writes this file."
    for title, place, value in edges:
        yield ""
        yield f"{title} | {place} = {value!r}"
        case = cases.get(title)
        yield from (case.section(place, value) or ["  unchanged"]) if case else ["  this case is gone"]


def listed(text: str) -> Iterator[Edge]:
    """The changes of a golden file."""
    for line in text.splitlines():
        if not line.startswith((" ", "#")) and (match := _HEAD.fullmatch(line)):
            yield match["case"], match["place"], ast.literal_eval(match["value"])


def write(code: str) -> None:
    """Search and write the golden file of a rule."""
    cases = tried(code)
    lines = written(code, cases, list(edges_of(cases)))
    path_of(code).write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")
