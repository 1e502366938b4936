"""Sentences lead to symptoms by their topic and complaint; lines of programs and other topics do not."""

import pytest

from jsdoctor.engine.recognition import SentenceReader
from tests.diagnosis.book import book, recogniser


def slugs(text: str) -> list[str]:
    return [symptom.slug for symptom in SentenceReader(book().vocabulary).read(text)]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Outbound gateway connections stuck waiting on first INFO response", "links-down"),
        ("waiting forever, that is what the outbound gateway does", "links-down"),
        ("our nightly backup of the NATS streams hangs at 40 percent", "restore-failed"),
        ("the mirror of the stream in Frankfurt is two days behind", "mirror-stalled"),
        ("a KV bucket lost half of its keys", "key-or-object-missing"),
        ("the email was sent again although the worker acked it", "messages-redelivered"),
        ("the NATS pods have used up their memory, it grows every day", "server-slow"),
        ("JetStream consumers are recreated at each restart", "consumer-missing"),
    ],
)
def test_a_topic_and_a_complaint_lead_to_a_symptom(text: str, slug: str) -> None:
    assert slug in slugs(text)[:3]
    assert recogniser().text(text).symptom is not None


@pytest.mark.parametrize(
    "text",
    [
        "the API gateway lost a request of the payment service",
        "our key was lost and the door is stuck",
        "a consumer of the stream",
        "stream stuck",
        "[7] 2026/11/21 10:00:00.000000 [INF] the consumer of a stream is stuck",
        '{"msg": "the consumer of a stream is stuck"}',
        "the stream\n" * 7 + "is stuck",
        "The stream has a name. " + "It holds orders of a shop and has three replicas on fast disks. " * 3 + "We hang.",
    ],
)
def test_other_topics_short_words_and_lines_of_programs_lead_nowhere(text: str) -> None:
    assert slugs(text) == []


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("our dispatcher panics: invalid memory address, NATS is fine otherwise", "insufficient-resources"),
        ("fix(streams): drop the second subject of the JetStream configuration", "messages-missing"),
        ("NATS: the JetStream server restarts all the time here", "messages-missing"),
    ],
)
def test_words_with_another_meaning_are_no_topic_and_no_complaint(text: str, slug: str) -> None:
    assert slug not in slugs(text)
