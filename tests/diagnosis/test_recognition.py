"""Texts as people meet them are recognised; texts of other things are not."""

import tomllib

import pytest

from jsdoctor.app.diagnose.collect import named_in
from jsdoctor.model.diagnosis import Narrowing
from tests.diagnosis.book import book, recogniser
from tests.support.evidence import FIXTURES, evidence_of
from tests.support.ruleset import rules

KNOWN: dict[str, list[str]] = tomllib.loads((FIXTURES / "symptoms" / "known.toml").read_text("utf-8"))
UNRELATED = (FIXTURES / "symptoms" / "unrelated.txt").read_text("utf-8").splitlines()
SIGNATURES = {signature.name: signature for rule in rules() for signature in rule.signatures}


def recognised(text: str) -> str | None:
    symptom = recogniser().text(text).symptom
    return symptom.slug if symptom else None


@pytest.mark.parametrize("slug", KNOWN)
def test_known_texts(slug: str) -> None:
    assert {text: seen for text in KNOWN[slug] if (seen := recognised(text)) != slug} == {}


def test_unrelated_texts() -> None:
    assert {text: seen for text in UNRELATED if (seen := recognised(text)) is not None} == {}


@pytest.mark.parametrize("symptom", book().symptoms, ids=lambda symptom: symptom.slug)
def test_every_signature_that_a_symptom_names_leads_to_it(symptom) -> None:  # type: ignore[no-untyped-def]
    for name in symptom.matching.signatures:
        for line in SIGNATURES[name].examples:
            recognition = recogniser().text(line)
            readings = {reading.symptom.slug for reading in recognition.also} | {
                recognition.symptom and recognition.symptom.slug
            }
            assert symptom.slug in readings, line


@pytest.mark.parametrize("symptom", book().symptoms, ids=lambda symptom: symptom.slug)
def test_every_code_leads_to_its_symptom_however_a_client_writes_it(symptom) -> None:  # type: ignore[no-untyped-def]
    for code in symptom.matching.codes:
        recognition = recogniser().code(code)
        assert recognition.symptom == symptom
        assert recognition.api_error is not None
        for text in (
            f"nats: API error: code=400 err_code={code} description=x",
            f"io.nats.client.JetStreamApiException: x [{code}]",
            f"nats: error: x ({code})",
            f"x (code 400, error code {code})",
            f'{{"error":{{"code":400,"err_code":{code},"description":"x"}}}}',
        ):
            assert recognised(text) == symptom.slug


NOT_OF_NATS = "application-duplicate-"
"""Errors of databases: they tell of duplicates only in the log of an application that reads from NATS."""

OF_THE_HEALTHY = "ping-traced"
"""A line of a healthy connection: that there are such lines is the finding, and nobody would paste one as a symptom."""


def test_every_example_of_a_log_signature_is_recognised() -> None:
    of_faults = [n for n in SIGNATURES if n != OF_THE_HEALTHY and not n.startswith(NOT_OF_NATS)]
    assert [line for name in of_faults for line in SIGNATURES[name].examples if recognised(line) is None] == []


def test_an_error_that_only_repeats_another_gives_way_to_its_words() -> None:
    text = "nats: API error: code=500 err_code=10052 description=duplicates window can not be larger then max age"
    assert recognised(text) == "duplicate-messages"
    assert recogniser().code(10052).symptom is not None


def test_the_last_sequence_is_read_from_the_error() -> None:
    assert recogniser().text("nats: wrong last sequence: 5123").actual_seq == 5123


def test_the_line_among_others_is_found() -> None:
    log = "\n".join(["starting", "2026/11/21 16:04:50 nats: no responders available for request", "retrying", ""])
    assert recognised(log) == "no-responders"


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "(" * 5000, "a" * 200_000, "10071" * 1000])
def test_odd_text_is_no_error(text: str) -> None:
    recogniser().text(text)


def _rows() -> list[list[str]]:
    lines = (FIXTURES / "symptoms" / "client_errors.tsv").read_text("utf-8").splitlines()[1:]
    return [line.split("\t") for line in lines]


def test_every_error_of_the_clients_leads_to_its_page_or_has_a_reason() -> None:
    wrong = [
        (client, text, page, recognised(text))
        for client, text, page, _ in _rows()
        if recognised(text) != (page or None)
    ]
    assert wrong == []
    assert all(bool(page) != bool(reason) for _, _, page, reason in _rows())


@pytest.mark.parametrize(
    "text",
    [
        "nats: dial nats://app:hunter2@nats:4222: connection refused",
        "nats failed: password: hunter2 i/o timeout",
        "nats token=hunter2 connection refused",
    ],
)
def test_secrets_in_a_text_are_not_repeated(text: str) -> None:
    recognition = recogniser().text(text)
    assert recognition.symptom is not None
    assert "hunter2" not in " ".join([recognition.by, *(reading.by for reading in recognition.also)])


@pytest.mark.parametrize(
    ("question", "slug"),
    [
        ("context deadline exceeded", "publish-not-acknowledged"),
        ("disk full", "insufficient-resources"),
        ("node down", "server-not-starting"),
        ("503", "no-responders"),
        ("server won't start", "server-not-starting"),
        ("high memory", "server-slow"),
        ("raft errors", "leader-changing"),
        ("why is billing not getting orders", "consumer-stalled"),
        ("why doesn't worker-1 receive ORDERS_EU", "consumer-stalled"),
        ("kafka is down", ""),
        ("hello world", ""),
        ("it is all quiet here", ""),
    ],
)
def test_a_few_words_that_are_typed_are_about_nats(question: str, slug: str) -> None:
    symptom = recogniser().question(question).symptom
    assert (symptom.slug if symptom else "") == slug


def test_a_log_of_a_few_words_is_not_about_nats() -> None:
    assert recogniser().text("disk full").symptom is None


@pytest.mark.parametrize(
    ("text", "narrowing"),
    [
        ("why is billing not getting orders", Narrowing("ORDERS", "billing")),
        ("publishes to ORDERS time out", Narrowing("ORDERS")),
        ("consumer lag", Narrowing()),
    ],
)
def test_names_in_a_question_are_found_in_the_deployment(text: str, narrowing: Narrowing) -> None:
    assert named_in(text, evidence_of({"base": "three-nodes-2.15.1"})) == narrowing


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("nats: API error: code=500 err_code=10047 description=insufficient storage resources available", {10047}),
        ("insufficient storage resources available", {10047}),
        ("cannot send to stream: nats: maximum bytes exceeded", {10077}),
        ("disk full", set[int]()),
    ],
)
def test_the_errors_that_a_text_is_of_are_known_without_their_codes(text: str, codes: set[int]) -> None:
    assert recogniser().question(text).codes == codes
