"""Which symptoms are offered for a text that none of them recognises."""

from __future__ import annotations

import pytest

from jsdoctor.engine.nearest_symptoms import MAX, nearest_symptoms
from tests.diagnosis.book import book

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
    assert near("disk full storage exhausted " + "x " * 4_000) == []
