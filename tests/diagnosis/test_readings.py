"""What in a text leads to a symptom, how it is named, and which of several readings comes first."""

from __future__ import annotations

import pytest

from jsdoctor.engine.recognition import Recogniser, Recognition
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.finding import Severity
from jsdoctor.model.rule import Rule, Signature
from jsdoctor.model.sentence import Topic, Vocabulary
from jsdoctor.model.symptom import Symptom
from tests.diagnosis.pages import book_of, error, page, text

STALLED = "consumer stalled"
SIGNATURES = (
    Signature("stream-torn", "stream is torn", "stream is torn", resolved_by=("stream-whole",)),
    Signature("stream-whole", "stream is whole again", "stream is whole again"),
    Signature("unnamed", "stream is odd", "stream is odd"),
)
RULE = Rule(code="JSD001", slug="torn", title="torn", checks=("x",), severity=Severity.ERROR, signatures=SIGNATURES)


def read(book: SymptomBook, words: str) -> Recognition:
    return Recogniser(book, [RULE]).text(words)


def readings(*pages: Symptom, words: str) -> list[tuple[str, str, int]]:
    """The symptoms of a text with the reasons and weights of all that is recognised beside a code before it."""
    everything = read(book_of(page("first", codes=(10001,)), *pages), f"error code 10001\n{words}")
    return [(reading.symptom.slug, reading.by, reading.weight) for reading in everything.also]


def slug(recognition: Recognition) -> str | None:
    return recognition.symptom.slug if recognition.symptom else None


def test_an_error_is_named_by_its_code_whether_a_page_has_it_or_not() -> None:
    known, other = error(10001, "the stream is torn apart"), error(10002, "the moon is full")
    recogniser = Recogniser(book_of(page("torn", codes=(10001,)), errors=(other, known)), [RULE])
    recognition = recogniser.code(10001)
    assert (slug(recognition), recognition.by, recognition.api_error) == ("torn", "API error 10001", known)
    assert recogniser.code(10002) == Recognition(api_error=other)
    assert recogniser.code(10003) == Recognition()
    in_text = recogniser.text("nats: error code 10003, err_code=10001, err_code=10002")
    assert (slug(in_text), in_text.by, in_text.api_error) == ("torn", "API error 10001", known)
    assert recogniser.text("nats: err_code=10003").api_error is None
    assert recogniser.text("nats: err_code=10002") == Recognition(api_error=other)


def test_a_code_weighs_more_than_a_line_a_line_more_than_one_that_ends_it_and_words_least() -> None:
    log = "the stream is torn\nthe stream is whole again\nthe stream is odd\nconsumer stalled"
    assert readings(
        page("words", text(STALLED)),
        page("ended", signatures=("stream-whole",)),
        page("begun", signatures=("stream-torn",)),
        words=log,
    ) == [
        ("begun", "the log signature stream-torn", 10_000 + len("stream is torn")),
        ("ended", "the log signature stream-whole", 5_000 + len("stream is whole again")),
        ("words", 'the words "consumer stalled" (Go)', len(STALLED)),
    ]
    assert readings(page("stalled", text(STALLED)), page("coded", codes=(10002,)), words=f"{STALLED}: error 10002") == [
        ("coded", "API error 10002", 1_000_000),
        ("stalled", 'the words "consumer stalled" (Go)', len(STALLED)),
    ]


ERRORS = (
    error(10001, "peer {peer} lost {name}: the requested replicas cannot be placed here: '{name}'"),
    error(10002, "stream sequence mismatch"),  # 24 characters
    error(10003, "stream sequence missing"),
    error(10004, "insufficient replication"),  # two words
    error(10005, "no raft group is up"),
    error(10006, "this one belongs to no page of all"),
)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("peer n3 is gone; the requested replicas cannot be placed here", 10001),
        ("the  Requested\n replicas cannot be placed here: 'x'", 10001),
        ("peer n3 lost: 'x'", None),
        ("the stream sequence mismatch of today", 10002),
        ("the stream sequence missing of today", None),
        ("insufficient replication", None),
        ("no raft group is up", None),
        ("this one belongs to no page of all", None),
    ],
)
def test_the_telling_words_of_an_api_error_are_known_without_its_code(words: str, code: int | None) -> None:
    pages = [page(f"page-{error.code}", codes=(error.code,)) for error in ERRORS[:-1]]
    recognition = read(book_of(*pages, errors=ERRORS), words)
    if code is None:
        assert recognition == Recognition()
    else:
        assert (slug(recognition), recognition.by) == (f"page-{code}", f"the text of API error {code}")


def test_words_stand_on_any_line_and_secrets_in_them_are_hidden() -> None:
    assert readings(
        page("start", text("^stalled")), page("login", text(r"dial \S+ failed", "Python")), words="a\nb\nstalled now"
    ) == [("start", 'the words "stalled" (Go)', 7)]
    words = "dial nats://app:hunter2@n1:4222 failed"
    [(_, by, weight)] = readings(page("login", text(r"dial \S+ failed", "Python")), words=words)
    assert (by, weight) == ('the words "dial nats://***@n1:4222 failed" (Python)', len(words))


def test_only_the_end_of_a_long_text_is_read() -> None:
    book = book_of(page("stalled", text(STALLED)))
    end = ("\n" + "y" * 1023) * 63 + "\n" + "y" * (1023 - len(STALLED))
    assert slug(read(book, f"x{STALLED}{end}")) == "stalled"
    assert slug(read(book, f"{STALLED}{end}x")) is None


def test_only_the_beginning_of_a_long_line_is_read() -> None:
    book = book_of(page("stalled", text(STALLED)))
    before = "x" * (4096 - len(STALLED))
    assert slug(read(book, f"{before}{STALLED}")) == "stalled"
    assert slug(read(book, f"{before}x{STALLED}")) is None


VOCABULARY = Vocabulary(
    (Topic("mirror", "mirror", {"stuck": ("one", "two", "three", "four")}),), {"stuck": "hangs|stuck"}
)
SENTENCE = "the OOM mirror hangs since Monday"


def test_a_sentence_leads_to_three_symptoms_at_most() -> None:
    pages = [page(slug) for slug in ("four", "three", "two", "one")]
    recognition = read(book_of(*pages, vocabulary=VOCABULARY), SENTENCE)
    assert (slug(recognition), recognition.by) == ("one", 'the words "mirror … hangs"')
    assert [(reading.symptom.slug, reading.by, reading.weight) for reading in recognition.also] == [
        ("two", 'the words "mirror … hangs"', 2),
        ("three", 'the words "mirror … hangs"', 1),
    ]
    lost = read(book_of(*pages[:3], vocabulary=VOCABULARY), SENTENCE)
    assert [slug(lost), *(reading.symptom.slug for reading in lost.also)] == ["two", "three"]
