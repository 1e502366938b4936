"""Every symptom has its page, and no claim of the runbooks is passed over."""

from __future__ import annotations

import tomllib

import pytest

from jsdoctor.engine.loader import PageText
from jsdoctor.engine.symptoms import load_symptoms
from jsdoctor.model.rule import RuleStatus
from jsdoctor.model.symptom import Claim, Truth
from jsdoctor.parse.front_matter import PageError
from jsdoctor.parse.symptom_page import parse_symptom_page
from tests.diagnosis.book import book
from tests.support.evidence import FIXTURES
from tests.support.ruleset import rules

SLUGS = {
    *("wrong-last-sequence", "consumer-sequence-mismatch", "duplicate-messages", "publish-not-acknowledged"),
    *("consumer-missing", "consumer-stalled", "consumer-not-bound", "no-responders", "insufficient-resources"),
    *("slow-consumer", "stream-offline", "messages-missing", "messages-redelivered", "healthcheck-failing"),
    *("links-down", "login-refused", "connection-lost", "server-not-starting", "reload-refused", "store-failing"),
    *("server-slow", "clocks-differ", "configuration-refused", "feature-disabled", "mirror-stalled", "network-trouble"),
    *("leader-changing", "stream-move-stuck", "restore-failed", "key-or-object-missing", "evidence-incomplete"),
    "call-refused-by-client",
}
CLAIMS = tomllib.loads((FIXTURES / "claims.toml").read_text("utf-8"))["claim"]
PAGE = """+++
slug = "it-is-slow"
title = "It is slow"
means = "It takes long"
shown_by = "the reply comes late"
causes = ["JSD403"]
next = ["consumer-stalled"]
[match]
codes = [10003]
[[match.texts]]
client = "Go"
pattern = 'too slow'
examples = ["nats: too slow"]
[because]
JSD403 = "No place is left."
+++
## What it means
Slow.
## What to do first
Wait.
## What runbooks claim
| claim | verdict | what is so |
| --- | --- | --- |
| Clocks | false | No |
## References
None.
"""

NO_WORDS = PageText("rules/sentences.toml", "symptoms", "")


def problems(old: str, new: str) -> str:
    with pytest.raises(PageError) as caught:
        parse_symptom_page("rules/symptoms/it-is-slow.md", PAGE.replace(old, new))
    return str(caught.value)


def misfits(old: str, new: str) -> str:
    page = PageText("rules/symptoms/it-is-slow.md", "symptoms", PAGE.replace(old, new))
    with pytest.raises(PageError) as caught:
        load_symptoms([page], b'[{"code":10003,"status":400,"name":"X","text":"bad request"}]', NO_WORDS, rules())
    return str(caught.value)


def test_every_symptom_of_the_catalogue_has_a_page() -> None:
    assert {symptom.slug for symptom in book().symptoms} == SLUGS


def test_every_claim_of_the_runbooks_appears_once_with_its_verdict() -> None:
    claims = [(claim.claim, claim.verdict.value) for symptom in book().symptoms for claim in symptom.claims]
    assert sorted(claims) == sorted((claim["claim"], claim["verdict"]) for claim in CLAIMS)


def test_all_claims_of_all_four_runbooks_are_listed() -> None:
    numbers: dict[str, list[int]] = {}
    for claim in CLAIMS:
        numbers.setdefault(claim["runbook"], []).append(claim["number"])
    assert {runbook: len(seen) for runbook, seen in numbers.items()} == {
        "publish-out-of-order": 21,
        "deduplication": 25,
        "consumer-sequence": 24,
        "operating": 43,
    }
    assert all(seen == list(range(1, len(seen) + 1)) for seen in numbers.values())


def test_texts_of_every_client_are_there() -> None:
    clients = {text.client for symptom in book().symptoms for text in symptom.matching.texts}
    assert clients >= {"Go", "Python", "Java", "JavaScript", ".NET", "Rust", "server", "people"}


def test_every_rule_is_a_cause_of_a_symptom() -> None:
    causes = {code for symptom in book().symptoms for code in symptom.causes}
    assert {rule.code for rule in rules() if rule.status is not RuleStatus.RETIRED} <= causes


def test_every_api_error_belongs_to_a_symptom() -> None:
    assert [error.code for error in book().api_errors if book().of_code(error.code) is None] == []


def test_every_cause_describes_how_it_makes_the_symptom() -> None:
    for symptom in book().symptoms:
        assert set(symptom.because) == set(symptom.causes)
        assert symptom.next


def test_a_page_is_read() -> None:
    page = parse_symptom_page("rules/symptoms/it-is-slow.md", PAGE)
    assert page.claims == (Claim("Clocks", Truth.FALSE, "No"),)
    assert page.matching.codes == (10003,)
    assert page.causes == ("JSD403",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('slug = "it-is-slow"', 'slug = "It is"', "lower-case words"),
        ('title = "It is slow"', "", "needs 'title'"),
        ('causes = ["JSD403"]', "causes = []", "'causes' needs"),
        ('causes = ["JSD403"]', 'causes = ["JSD403", "JSD405"]', "does not say how JSD405"),
        ('causes = ["JSD403"]', 'causes = ["JSD403", "JSD403"]', "twice"),
        ('JSD403 = "No place is left."', 'JSD404 = "x"', "names JSD404"),
        ("pattern = 'too slow'", "pattern = '('", "not a pattern"),
        ("pattern = 'too slow'", "pattern = 'x*'", "empty text"),
        ('examples = ["nats: too slow"]', 'examples = ["fast"]', "not found in its example"),
        ('examples = ["nats: too slow"]', "examples = []", "needs a text"),
        ("[because]", '[ruled_out_with]\nJSD405 = ["logs"]\n[because]', "[ruled_out_with] names JSD405"),
        ("[because]", '[ruled_out_with]\nJSD403 = "logs"\n[because]', "must be lists"),
        ("codes = [10003]", 'codes = ["x"]', "'match'"),
        ("codes = [10003]", "codes = [10003]\nmore = 1", "'match'"),
        ("| Clocks | false | No |", "| Clocks | wrong | No |", "a claim is a row"),
        ("| Clocks | false | No |", "| Clocks | false |", "a claim is a row"),
        ("## What to do first", "## First", "sections must be"),
        ("+++\nslug", "slug", "front matter"),
    ],
)
def test_mistakes_in_a_page_are_reported(old: str, new: str, message: str) -> None:
    assert message in problems(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("JSD403", "JSD999", "no rule has the code 'JSD999'"),
        ("codes = [10003]", "codes = [19999]", "no error of the JetStream API has the code '19999'"),
        ("codes = [10003]", 'signatures = ["nowhere"]', "no signature is named 'nowhere'"),
        ('next = ["consumer-stalled"]', 'next = ["nowhere"]', "no other symptom is named 'nowhere'"),
        ('slug = "it-is-slow"', 'slug = "it-is-quick"', "named after its slug"),
        ("[because]", '[ruled_out_with]\nJSD403 = ["luck"]\n[because]', "no evidence source is named 'luck'"),
    ],
)
def test_what_does_not_fit_the_rules_is_reported(old: str, new: str, message: str) -> None:
    assert message in misfits(old, new)
