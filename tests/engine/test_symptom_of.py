"""Symptoms without a text that is recognised: from findings, and from shared words."""

from __future__ import annotations

import pytest

from jsdoctor.engine.nearest_symptoms import MAX, nearest_symptoms
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


def test_scores_weigh_severity_rank_and_home() -> None:
    """By hand: weight by severity, twice on the page of its signatures, divided by its place among the causes."""
    weights = {Severity.CRITICAL: 64, Severity.ERROR: 16, Severity.WARNING: 4}
    for severity, weight in weights.items():
        recognition = recognised(result("JSD702", severity=severity))
        assert recognition.symptom is not None
        scores = {reading.symptom.slug: reading.weight for reading in recognition.also}
        for symptom in book().caused_by("JSD702"):
            home = 2 if "JSD702" in symptom.matching.rules else 1
            expected = round(weight * home / (1 + symptom.causes.index("JSD702")))
            assert scores.get(symptom.slug, expected) == expected
        ranked = [reading.weight for reading in recognition.also]
        assert ranked == sorted(ranked, reverse=True)


def test_a_rule_weighs_twice_on_the_page_that_its_signatures_belong_to() -> None:
    """JSD702 is the first cause of one page and the third of another, on which its two thirds are less than a whole."""
    pages = book_of(
        page("home", causes=("JSD401", "JSD403", "JSD702"), rules=("JSD702",)), page("other", causes=("JSD702",))
    )
    recognition = symptom_of([result("JSD702", severity=Severity.ERROR)], pages, Severity.WARNING)
    assert slugs(recognition) == ["other", "home"]
    assert recognition.also[0].weight == round(16 * 2 / 3)


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


def test_the_most_severe_finding_of_a_rule_counts_once() -> None:
    weak, strong = result("JSD702", severity=Severity.WARNING), result("JSD702", severity=Severity.CRITICAL)
    assert recognised(weak, strong) == recognised(strong, weak) == recognised(strong)


def test_why_names_three_rules_and_counts_the_others() -> None:
    symptom = max(book().symptoms, key=lambda page: sum(code in RULES for code in page.causes))
    codes = [code for code in symptom.causes if code in RULES and RULES[code].failure_mode != "collection"]
    recognition = recognised(*(result(code, severity=Severity.ERROR) for code in codes[:5]))
    by = {reading.symptom.slug: reading.by for reading in recognition.also}
    if recognition.symptom is not None:
        by[recognition.symptom.slug] = recognition.by
    assert by[symptom.slug] == f"what the rules find in it: {', '.join(codes[:3])} and 2 more"
    three = recognised(*(result(code, severity=Severity.ERROR) for code in codes[:3]))
    by = {reading.symptom.slug: reading.by for reading in three.also} | {
        three.symptom.slug if three.symptom else "": three.by
    }
    assert by[symptom.slug] == f"what the rules find in it: {', '.join(codes[:3])}"


@pytest.mark.parametrize("text", ["", "the and for with", "zzz qqq"])
def test_no_shared_word_is_no_neighbour(text: str) -> None:
    assert nearest_symptoms(text, book()) == ()


def test_the_title_of_a_symptom_is_nearest_to_its_own_page() -> None:
    for symptom in book().symptoms:
        near = nearest_symptoms(f"{symptom.title} {symptom.means}", book())
        assert near[0] == symptom
        assert len(near) <= MAX


def test_endings_and_case_do_not_matter_and_only_the_end_of_a_long_text_counts() -> None:
    symptom = book().symptoms[0]
    text = f"{symptom.title} {symptom.means}"
    assert nearest_symptoms(text.upper(), book()) == nearest_symptoms(text, book())
    assert nearest_symptoms(text + " x" * 4_000, book()) == ()
    assert nearest_symptoms("x " * 4_000 + text, book())[0] == symptom
