"""Overlap of subjects with wildcards, against matching every possible subject one by one."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.subjects import common_subject, overlaps_any, subjects_overlap

TOKENS = ("a", "b")
DEPTH = 4
# Every subject that patterns over two literal tokens and up to three tokens could tell apart: "c" is in none of them,
# and a fourth token is where only ">" still matches.
EVERY_SUBJECT = [subject for length in range(1, DEPTH + 1) for subject in product((*TOKENS, "c"), repeat=length)]

tokens = st.lists(st.sampled_from((*TOKENS, "*")), min_size=0, max_size=DEPTH - 1)
patterns = (
    st.tuples(tokens, st.booleans())
    .filter(lambda made: made[0] or made[1])
    .map(lambda made: ".".join([*made[0], ">"] if made[1] else made[0]))
)


def matches(pattern: str, subject: tuple[str, ...]) -> bool:
    """The definition, one token at a time."""
    wanted = pattern.split(".")
    if wanted[-1] == ">":
        return len(subject) >= len(wanted) and matches_tokens(wanted[:-1], subject[: len(wanted) - 1])
    return len(subject) == len(wanted) and matches_tokens(wanted, subject)


def matches_tokens(wanted: list[str], subject: tuple[str, ...]) -> bool:
    return all(token in ("*", part) for token, part in zip(wanted, subject, strict=True))


@given(patterns, patterns)
def test_overlap_means_that_some_subject_matches_both(first: str, other: str) -> None:
    expected = any(matches(first, subject) and matches(other, subject) for subject in EVERY_SUBJECT)
    assert subjects_overlap(first, other) is expected


@given(patterns, patterns)
def test_overlap_has_no_direction(first: str, other: str) -> None:
    assert subjects_overlap(first, other) is subjects_overlap(other, first)


@given(patterns)
def test_everything_overlaps_itself_and_the_full_wildcard(pattern: str) -> None:
    assert subjects_overlap(pattern, pattern)
    assert subjects_overlap(pattern, ">")


@pytest.mark.parametrize(
    ("first", "other", "expected"),
    [
        ("orders.>", "orders", False),  # ">" is at least one token
        ("orders.>", "orders.new", True),
        ("orders.*.eu", "orders.new.>", True),
        ("orders.*", "orders.new.eu", False),
        ("*.new", "orders.*", True),
        ("*.new", "orders.paid", False),
        ("$KV.config.>", "$KV.config.a.b", True),
        ("orders", "ORDERS", False),
        ("a.b*", "a.bc", False),  # a star inside a token is a plain character
        ("a.>.c", "a.b.c", True),  # not a valid subject: treated as if it ended there, so nothing is said of it
    ],
)
def test_known_pairs(first: str, other: str, expected: bool) -> None:
    assert subjects_overlap(first, other) is expected


def test_any_of_several() -> None:
    assert overlaps_any("a.*", ("b.>", "a.c"))
    assert not overlaps_any("a.*", ("b.>", "a.c.d"))
    assert not overlaps_any("a.*", ())


@given(patterns, patterns)
def test_the_common_pattern_matches_what_both_match(first: str, second: str) -> None:
    both = [subject for subject in EVERY_SUBJECT if matches(first, subject) and matches(second, subject)]
    common = common_subject(first, second)
    assert [subject for subject in EVERY_SUBJECT if common and matches(common, subject)] == both
