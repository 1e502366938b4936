"""Which symptoms are offered for a text that none of them recognises."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from jsdoctor.engine.nearest_symptoms import MAX, nearest_symptoms
from jsdoctor.engine.symptoms import SymptomBook
from tests.diagnosis.book import book
from tests.diagnosis.pages import book_of, page
from tests.diagnosis.pages import text as wording

TEXTS = {
    "the replicas of our stream are lagging behind": [],
    "disk is full, storage exhausted": ["insufficient-resources", "restore-failed", "store-failing"],
    "consumers redelivering the same messages twice": ["duplicate-messages", "messages-redelivered"],
}


def near(text: str) -> list[str]:
    return [symptom.slug for symptom in nearest_symptoms(text, book())]


def test_texts() -> None:
    assert {text: near(text) for text in TEXTS} == TEXTS


@pytest.mark.parametrize("text", ["", "the and for", "zzz", "message"])
def test_no_word_of_weight_has_no_neighbour(text: str) -> None:
    assert near(text) == []


def test_there_are_few_and_the_end_of_a_long_text_counts() -> None:
    everything = " ".join(symptom.title for symptom in book().symptoms)
    assert len(near(everything)) == MAX
    assert near("disk full storage exhausted " + "x " * 2_000) == []
    assert near("disk full storage exhausted " + "x " * 1_900) == near("disk full storage exhausted")


def one_of_sixteen(*words: str) -> SymptomBook:
    """A page with these words and fifteen that share none with it: two of its words are enough, one is not."""
    return book_of(page("own", title=" ".join(words)), *(page(f"x{n}", means="unrelated") for n in range(15)))


def test_two_words_of_one_page_make_a_neighbour_and_one_does_not() -> None:
    near_page = nearest_symptoms("a quorum of peers", one_of_sixteen("quorum", "peers"))
    assert [symptom.slug for symptom in near_page] == ["own"]
    assert nearest_symptoms("a quorum", one_of_sixteen("quorum", "peers")) == ()


@pytest.mark.parametrize(
    "word", ["the", "and", "for", "are", "was", "with", "not", "has", "have", "this", "that", "from", "out", "our"]
)
def test_words_of_any_sentence_have_no_weight(word: str) -> None:
    assert nearest_symptoms(f"{word} quorum", one_of_sixteen(word, "quorum")) == ()


@pytest.mark.parametrize("text", ["quorums peer", "QUORUM peered", "quorumed, peering"])
def test_endings_and_capitals_do_not_matter(text: str) -> None:
    assert [symptom.slug for symptom in nearest_symptoms(text, one_of_sixteen("quorum", "peers"))] == ["own"]


def test_each_part_of_a_page_has_words_of_its_own() -> None:
    known = msgspec.structs.replace(wording("x"), examples=("ballot",))
    own = page("quorum", known, title="peers", means="vote", because={"JSD702": "leader"})
    pages = book_of(own, *(page(f"x{n}", means="unrelated") for n in range(15)))
    parts = ("quorum", "peers", "vote", "leader", "ballot")
    for first, second in pairwise(parts):
        assert [symptom.slug for symptom in nearest_symptoms(f"{first} {second}", pages)] == ["quorum"]
