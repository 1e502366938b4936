"""Signatures of all rules do what they say; mistakes in them are told."""

from __future__ import annotations

import itertools

import pytest

from jsdoctor.model.rule import Signature
from jsdoctor.parse.logs.lines.builtin import BUILTIN
from jsdoctor.parse.logs.lines.engine import LiteralSearch, Pattern, portable
from jsdoctor.parse.logs.lines.matcher import Matcher, measured
from jsdoctor.parse.logs.lines.signatures import signature_problems
from tests.logs.corpus import SIGNATURES
from tests.support.ruleset import rules

ALL = [signature for rule in rules() for signature in rule.signatures]


@pytest.mark.parametrize("signature", ALL, ids=lambda signature: signature.name)
def test_signature_matches_its_examples(signature: Signature) -> None:
    assert list(signature_problems(signature)) == []


@pytest.mark.parametrize("signature", [*BUILTIN, *SIGNATURES], ids=lambda signature: signature.name)
def test_built_in_signatures_are_portable(signature: Signature) -> None:
    assert portable(signature.pattern) is None


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


def test_literals_inside_each_other_are_all_present() -> None:
    literals = (b"stalled", b"NO quorum, stalled", b"quorum", b"absent")
    assert list(LiteralSearch(literals).present(b"has NO quorum, stalled")) == [0, 1, 2]


def test_reasons_count_together_without_their_numbers() -> None:
    (signature,) = [known for known in SIGNATURES if known.name == "t-route-dial"]
    matcher = Matcher([signature])
    texts = [
        b"Error trying to connect to route (attempt %d): dial tcp 10.0.0.%d:6222: refused" % (n, n) for n in (1, 22)
    ]
    matches = [matcher.match(True, "ERR", text)[0] for text in texts]
    assert matches[0].subject == matches[1].subject == (("reason", "dial tcp N.N.N.N:N: refused"),)
    assert [match.measures for match in matches] == [(("attempt", 1),), (("attempt", 22),)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2,000", 2000),
        ("12", 12),
        ("1.5s", 1_500_000_000),
        ("749.033µs", 749_033),
        ("1.20 MB", 1_258_291),
        ("n/a", None),
    ],
)
def test_numbers_of_fields(text: str, number: int | None) -> None:
    assert measured(text) == number


def test_names_are_unique() -> None:
    names = [signature.name for signature in ALL]
    assert len(names) == len(set(names))
    assert not any(name.startswith("@") for name in names)
    known = {*names, *(signature.name for signature in BUILTIN)}
    assert not set(itertools.chain.from_iterable(signature.resolved_by for signature in ALL)) - known


def test_patterns_are_quick_on_long_texts() -> None:
    text = b"JetStream cluster stream '" + b"a > " * 500 + b" has NO quorum, stalled"
    for signature in SIGNATURES:
        assert Pattern(signature.pattern).groups(text) == Pattern(signature.pattern, short=len(text)).groups(text)
