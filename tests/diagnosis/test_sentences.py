"""Sentences lead to symptoms by their topic and complaint; lines of programs and other topics do not."""

from __future__ import annotations

import pytest

from jsdoctor.engine.recognition import SentenceMatch, SentenceReader
from jsdoctor.parse.vocabulary import parse_vocabulary
from tests.diagnosis.book import book, recogniser

ORIGIN = "rules/sentences.toml"


TOPICS = r"""
[complaints]
stuck = 'stuck|hangs?'
lost = 'lost|gone'
[[topic]]
name = "mirror"
words = 'mirror lost|mirrors?'
stuck = ["mirror-stalled", "stream-offline"]
lost = ["messages-missing"]
[[topic]]
name = "stream"
words = 'streams?'
general = true
stuck = ["stream-offline"]
lost = ["messages-missing"]
"""
"""Two topics of which the first weighs 2 and the second 1.5; the first complaint leads to two symptoms."""


def read(text: str) -> list[SentenceMatch]:
    return SentenceReader(parse_vocabulary(ORIGIN, TOPICS)).read(text)


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


@pytest.mark.parametrize(("words", "slugs"), [(18, ["messages-missing"]), (19, [])])
def test_a_complaint_stands_near_its_topic(words: int, slugs: list[str]) -> None:
    assert [match.slug for match in read(f"the mirror {'of ours ' * (words // 2)}{'so ' * (words % 2)}gone")] == slugs


@pytest.mark.parametrize("text", ["the mirror of ours. All is lost", "we have a mirror lost and found"])
def test_a_complaint_of_another_sentence_or_within_the_topic_is_none(text: str) -> None:
    assert read(text) == []


def test_passages_that_are_short_or_about_something_else_do_not_end_the_search() -> None:
    """A title that says what was done, one of a topic that other systems have as well, and the trouble."""
    body = "We use it for a year with the same settings and have not had to look at it until now. " * 9
    text = f"fix: drop the mirror\n\nThe stream of our data is stuck\n\nNow and then a mirror hangs here\n\n{body}"
    assert [match.slug for match in read(text)] == ["mirror-stalled", "stream-offline"]


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("nats: JetStream: the stream hangs since Monday", True),  # the error itself names JetStream
        ("nats: the stream hangs since Monday", False),  # how clients begin an error is no name
        ("nats: mirror hangs since Monday", True),  # four words behind it are a sentence
        ("fix: drop mirror stuck here", False),  # what was done is left out, and three words are no sentence
        ("fix: drop the mirror stuck since Monday", True),
        ("a MirrorHangs error on each restart", True),  # names in camel case are words
        ("a mirror_hangs error on each restart", True),
    ],
)
def test_prefixes_are_no_words_and_names_are_several(text: str, leads: bool) -> None:
    assert bool(read(text)) is leads
