"""Sentences lead to symptoms by their topic and complaint; lines of programs and other topics do not."""

from __future__ import annotations

import pytest

from jsdoctor.engine.loader import PageText
from jsdoctor.engine.recognition import SentenceMatch, SentenceReader
from jsdoctor.engine.symptoms import load_symptoms
from jsdoctor.parse.front_matter import PageError
from jsdoctor.parse.vocabulary import parse_vocabulary
from tests.diagnosis.book import book, recogniser
from tests.support.ruleset import rules

ORIGIN = "rules/sentences.toml"
ONE_TOPIC = """
[complaints]
stuck = 'stuck|hangs'
[[topic]]
name = "stream"
words = 'streams?'
stuck = ["stream-offline"]
"""


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


def test_the_likeliest_symptom_of_a_topic_has_twice_the_share_of_the_next() -> None:
    assert read("our mirror hangs since Monday") == [
        SentenceMatch("mirror-stalled", "mirror … hangs", 1.0),
        SentenceMatch("stream-offline", "mirror … hangs", 0.5),
    ]


def test_the_first_topic_weighs_more_than_the_last() -> None:
    text = "the NATS stream is now stuck. messages of the mirror are gone"
    assert [(match.slug, match.words) for match in read(text)] == [
        ("messages-missing", "mirror … gone"),
        ("stream-offline", "stream … stuck"),
    ]
    assert [match.share for match in read(text)] == pytest.approx([1, 1.5 / (4 + 2) / (2 / (4 + 1))])


def test_the_nearest_complaint_counts_and_is_named_as_it_stands() -> None:
    [reading] = read("NATS: lost for weeks and now gone, that is the stream")
    assert reading.words == "gone … stream"
    near, far = read("NATS: the stream hangs and some of it is lost")
    assert (near.slug, far.slug) == ("stream-offline", "messages-missing")
    assert far.share == pytest.approx(4 / (4 + 6))


@pytest.mark.parametrize(("words", "slugs"), [(18, ["messages-missing"]), (19, [])])
def test_a_complaint_stands_near_its_topic(words: int, slugs: list[str]) -> None:
    assert [match.slug for match in read(f"the mirror {'of ours ' * (words // 2)}{'so ' * (words % 2)}gone")] == slugs


@pytest.mark.parametrize("text", ["the mirror of ours. All is lost", "we have a mirror lost and found"])
def test_a_complaint_of_another_sentence_or_within_the_topic_is_none(text: str) -> None:
    assert read(text) == []


def test_two_topics_that_lead_to_one_symptom_are_named_by_the_better() -> None:
    [reading] = read("the mirror is lost, or so it seems to me: lost is the stream")
    assert reading == SentenceMatch("messages-missing", "mirror … lost", 1.0)
    [again] = read("the mirror is gone and of the other mirrors it was now lost")
    assert again.words == "mirror … gone"


def test_passages_that_are_short_or_about_something_else_do_not_end_the_search() -> None:
    """A title that says what was done, one of a topic that other systems have as well, and the trouble."""
    body = "We use it for a year with the same settings and have not had to look at it until now. " * 9
    text = f"fix: drop the mirror\n\nThe stream of our data is stuck\n\nNow and then a mirror hangs here\n\n{body}"
    assert [match.slug for match in read(text)] == ["mirror-stalled", "stream-offline"]


def test_the_body_of_a_report_weighs_less_than_its_title() -> None:
    body = "We use it for a year with the same settings and have not had to look at it until now. " * 9
    text = f"A mirror of ours is gone\n\nThe NATS stream of this mirror hangs\n\n{body}"
    shares = {match.slug: match.share for match in read(text)}
    title = 2 / (4 + 3)
    below = {"mirror-stalled": 0.6 * 2 / 4, "stream-offline": 0.6 * (2 / 2 / 4 + 1.5 / (4 + 3))}
    best = max(title, *below.values())
    assert shares == pytest.approx({"messages-missing": title / best} | {s: v / best for s, v in below.items()})


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
