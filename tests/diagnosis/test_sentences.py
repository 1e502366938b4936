"""Sentences lead to symptoms by their topic and complaint; lines of programs and other topics do not."""

from __future__ import annotations

import pytest

from jsdoctor.engine.loader import PageText
from jsdoctor.engine.sentences import SentenceReader
from jsdoctor.engine.symptoms import load_symptoms
from jsdoctor.parse.front_matter import PageError
from jsdoctor.parse.vocabulary import parse_vocabulary
from tests.diagnosis.book import book, recogniser
from tests.ruleset import rules

ORIGIN = "rules/sentences.toml"
ONE_TOPIC = """
[complaints]
stuck = 'stuck|hangs'
[[topic]]
name = "stream"
words = 'streams?'
stuck = ["stream-offline"]
"""


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


def test_a_known_wording_is_more_than_a_sentence() -> None:
    recognition = recogniser().text("the consumer of the stream fails with nats: wrong last sequence: 5")
    assert recognition.symptom is not None
    assert recognition.symptom.slug == "wrong-last-sequence"


def test_every_symptom_of_a_topic_is_the_first_of_some_complaint_or_stands_behind_another() -> None:
    for topic in book().vocabulary.topics:
        assert topic.leads, topic.name
        assert all(len(set(slugs)) == len(slugs) for slugs in topic.leads.values()), topic.name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[complaints", "Expected ']'"),
        (ONE_TOPIC.replace("words = 'streams?'", ""), "a topic needs 'name', 'words' and lists of symptoms"),
        (ONE_TOPIC.replace("'streams?'", "'(streams'"), "the words of 'stream' are no pattern"),
        (ONE_TOPIC.replace("'stuck|hangs'", "'(stuck)?'"), "the words of 'stuck' are found in an empty text"),
        (ONE_TOPIC + 'slow = ["server-slow"]', "topic 'stream': no complaint is named 'slow'"),
    ],
)
def test_mistakes_in_the_vocabulary_are_reported(text: str, problem: str) -> None:
    with pytest.raises(PageError) as caught:
        parse_vocabulary(ORIGIN, text)
    assert problem in str(caught.value)


def test_a_topic_that_leads_to_no_symptom_is_a_mistake() -> None:
    with pytest.raises(PageError) as caught:
        load_symptoms([], b"[]", PageText(ORIGIN, "symptoms", ONE_TOPIC), rules())
    assert "topic 'stream': no symptom is named 'stream-offline'" in str(caught.value)
