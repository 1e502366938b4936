"""Symptoms without a text that is recognised: from findings, and from shared words."""

from jsdoctor.engine.recognition import Recognition
from jsdoctor.engine.symptom_of import symptom_of, symptom_of_possible
from jsdoctor.model.finding import Confidence, Finding, Outcome, Severity, Subject
from jsdoctor.model.report import Result
from tests.diagnosis.book import book
from tests.diagnosis.pages import book_of, page
from tests.support.ruleset import rules

RULES = {rule.code: rule for rule in rules()}
ORDERS = Subject(kind="stream", name="ORDERS", account="APP")


def result(code: str, **more: object) -> Result:
    return Result(RULES[code], Finding(subject=ORDERS, **more))  # type: ignore[arg-type]


def recognised(*results: Result, at_least: Severity = Severity.WARNING) -> Recognition:
    return symptom_of(results, book(), at_least)


def slugs(recognition: Recognition) -> list[str]:
    first = [recognition.symptom.slug] if recognition.symptom else []
    return [*first, *(reading.symptom.slug for reading in recognition.also)]


def test_every_cause_leads_to_the_symptoms_that_list_it() -> None:
    for symptom in book().symptoms:
        for code in symptom.causes:
            if code in RULES and RULES[code].failure_mode != "collection":
                assert symptom.slug in slugs(recognised(result(code, severity=Severity.ERROR))), (symptom.slug, code)


def test_nothing_found_is_no_symptom() -> None:
    assert recognised() == Recognition()
    assert recognised(result("JSD401", outcome=Outcome.PASS)) == Recognition()
    assert recognised(result("JSD401", confidence=Confidence.LOW)) == Recognition()
    assert recognised(result("JSD401", severity=Severity.INFO)) == Recognition()
    assert recognised(result("JSD901", severity=Severity.ERROR)) == Recognition()


def test_findings_below_the_wanted_severity_are_no_symptom() -> None:
    warning = result("JSD401", severity=Severity.WARNING)
    assert recognised(warning, at_least=Severity.ERROR) == Recognition()
    assert recognised(warning, at_least=Severity.WARNING) != Recognition()
    assert recognised(warning, result("JSD702", severity=Severity.ERROR), at_least=Severity.ERROR) != Recognition()


def test_what_may_be_a_fault_leads_to_a_symptom_where_nothing_is_sure() -> None:
    pages = book_of(page("first", causes=("JSD702", "JSD401")), page("second", causes=("JSD403", "JSD702")))
    possible = result("JSD702", confidence=Confidence.LOW)
    recognition = symptom_of_possible([possible, result("JSD403"), result("JSD401", outcome=Outcome.PASS)], pages)
    assert slugs(recognition) == ["first", "second"]
    assert recognition.by == "what may be a fault in it: JSD702"
    assert [reading.weight for reading in recognition.also] == [0]
    assert symptom_of_possible([result("JSD702")], pages) == Recognition()
    passed = result("JSD702", outcome=Outcome.PASS, confidence=Confidence.LOW)
    assert symptom_of_possible([passed, result("JSD901", confidence=Confidence.LOW)], pages) == Recognition()
