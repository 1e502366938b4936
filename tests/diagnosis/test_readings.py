"""What in a text leads to a symptom, how it is named, and which of several readings comes first."""

from jsdoctor.engine.recognition import Recogniser, Recognition
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.finding import Severity
from jsdoctor.model.rule import Rule, Signature
from jsdoctor.model.sentence import Topic, Vocabulary
from jsdoctor.model.symptom import Symptom
from tests.diagnosis.pages import book_of, page, text

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
