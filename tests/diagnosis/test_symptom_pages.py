"""Every symptom has its page, and no claim of the runbooks is passed over."""

import tomllib

from jsdoctor.model.rule import RuleStatus
from tests.diagnosis.book import book
from tests.support.evidence import FIXTURES
from tests.support.ruleset import rules

CLAIMS = tomllib.loads((FIXTURES / "claims.toml").read_text("utf-8"))["claim"]


def test_every_claim_of_the_runbooks_appears_once_with_its_verdict() -> None:
    claims = [(claim.claim, claim.verdict.value) for symptom in book().symptoms for claim in symptom.claims]
    assert sorted(claims) == sorted((claim["claim"], claim["verdict"]) for claim in CLAIMS)


def test_every_rule_is_a_cause_of_a_symptom() -> None:
    causes = {code for symptom in book().symptoms for code in symptom.causes}
    assert {rule.code for rule in rules() if rule.status is not RuleStatus.RETIRED} <= causes


def test_every_api_error_belongs_to_a_symptom() -> None:
    assert [error.code for error in book().api_errors if book().of_code(error.code) is None] == []


def test_every_cause_describes_how_it_makes_the_symptom() -> None:
    for symptom in book().symptoms:
        assert set(symptom.because) == set(symptom.causes)
        assert symptom.next
