"""Copies of known texts are those that a pattern of all of them gives, and long ones are found in linear time."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsdoctor.redaction.redact import Copies

LONG = 140_000
KNOWN = st.text(alphabet="ab", min_size=6, max_size=20).map(str.encode)
LONG_KNOWN = st.builds(lambda unit, times, end: unit * times + end, KNOWN, st.integers(20, 40), KNOWN)


def _of_a_pattern(known: list[bytes], text: bytes) -> list[tuple[int, int]]:
    longest_first = sorted(known, key=lambda form: (-len(form), form))
    return [match.span() for match in re.finditer(b"|".join(map(re.escape, longest_first)), text)]


@settings(max_examples=500)
@given(st.lists(KNOWN, min_size=1, max_size=6), st.text(alphabet="ab", max_size=200).map(str.encode))
def test_short_copies_are_those_that_a_pattern_gives(known: list[bytes], text: bytes) -> None:
    text += known[0]
    assert list(Copies(known).spans(text)) == _of_a_pattern(known, text)


@settings(max_examples=300)
@given(st.lists(st.one_of(KNOWN, LONG_KNOWN), min_size=1, max_size=5), st.data())
def test_long_copies_are_those_that_a_pattern_gives(known: list[bytes], data: st.DataObject) -> None:
    """Of texts that begin alike, overlap and repeat, and of pieces of them."""
    piece = st.sampled_from(known).flatmap(
        lambda text: st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda cut: text[cut[0] : len(text) - cut[1]])
    )
    text = b"".join(data.draw(st.lists(st.one_of(piece, st.sampled_from(known), KNOWN), max_size=8)))
    assert list(Copies(known).spans(text)) == _of_a_pattern(known, text)
    assert Copies(known).are_in(text) == bool(_of_a_pattern(known, text))


@pytest.mark.parametrize("known", [b"a.b*c+(", b"\\d\\d\\d", b"\n\n\n\n\n\n", b"\x00\xff\xfe\x00\xff\xfe"])
def test_no_byte_of_a_known_text_means_anything_else(known: bytes) -> None:
    assert list(Copies([known]).spans(b"x" + known + b"aXbXcX(" + known)) == [
        (1, 1 + len(known)),
        (8 + len(known), 8 + 2 * len(known)),
    ]


def test_a_longer_text_that_the_end_cuts_is_not_there() -> None:
    assert list(Copies([b"abcdefgh", b"abcdefghij"]).spans(b"abcdefghijabcdefgh")) == [(0, 10), (10, 18)]


def test_nothing_known_is_nowhere() -> None:
    assert not Copies(()).are_in(b"anything at all")


@pytest.mark.parametrize("known", [b"a" * LONG, b"a" * LONG + b"Z", b"ab" * (LONG // 2) + b"Z", b"a" * 100 + b"Z"])
def test_what_nearly_agrees_everywhere_takes_no_time(known: bytes) -> None:
    """A pattern takes 8 s for a third of this."""
    copies = Copies([known, known + b"y", b"aa" + known])
    text = known[:-1] * 2 + b"X" + known
    started = time.process_time()
    assert (len(text) - len(known), len(text)) in list(copies.spans(text))
    assert time.process_time() - started < 4


def test_many_that_begin_alike_take_no_longer_where_they_are_not() -> None:
    known = [b"of a kind: %d-%d" % (number, number) for number in range(20_000)]
    copies = Copies(known)
    started = time.process_time()
    assert not copies.are_in(b"of a kind: none " * (LONG // 16))
    assert time.process_time() - started < 4
