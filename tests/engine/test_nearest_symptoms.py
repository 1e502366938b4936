"""Which symptoms are offered for a text that none of them recognises."""

from jsdoctor.engine.recognition import nearest_symptoms
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
