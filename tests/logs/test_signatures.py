"""Signatures of all rules do what they say; mistakes in them are told."""

import itertools

import pytest

from jsdoctor.logs.lines.builtin import BUILTIN
from jsdoctor.logs.lines.matcher import signature_problems, why_not_portable
from jsdoctor.model.rule import Signature
from tests.logs.corpus import SIGNATURES
from tests.support.ruleset import rules

ALL = [signature for rule in rules() for signature in rule.signatures]


def test_signatures_match_their_examples() -> None:
    assert {each.name: problems for each in ALL if (problems := list(signature_problems(each)))} == {}


def test_built_in_signatures_are_portable() -> None:
    assert {each.name: why for each in (*BUILTIN, *SIGNATURES) if (why := why_not_portable(each.pattern))} == {}


GOOD = Signature(
    name="good",
    contains="has gone away",
    pattern=r"stream '(.+?)' has gone away",
    fields=("stream",),
    levels=("WRN",),
    examples=("[7] 2026/11/21 10:00:00.000000 [WRN] stream 'S' has gone away",),
)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"pattern": r"stream '(?P<x>.+?)' has gone away"}, "portable"),
        ({"pattern": r"(?i)stream '(.+?)' has gone away"}, "portable"),
        ({"pattern": r"stream '(.+?' has gone away"}, "refuses"),
        ({"pattern": r"stream '(.+?)' has (gone) away"}, "2 groups and 1 fields"),
        ({"pattern": r"consumer '(.+?)' has gone away"}, "does not match"),
        ({"contains": "has gone home"}, "does not contain"),
        ({"levels": ("ERR",)}, "level WRN"),
    ],
)
def test_mistakes_are_reported(change: dict[str, object], problem: str | None) -> None:
    fields = {name: getattr(GOOD, name) for name in GOOD.__struct_fields__}
    problems = list(signature_problems(Signature(**{**fields, **change})))
    assert bool(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


def test_names_are_unique() -> None:
    names = [signature.name for signature in ALL]
    assert len(names) == len(set(names))
    assert not any(name.startswith("@") for name in names)
    known = {*names, *(signature.name for signature in BUILTIN)}
    assert not set(itertools.chain.from_iterable(signature.resolved_by for signature in ALL)) - known
