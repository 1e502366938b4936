"""What leads to a symptom: its name, an error of the API, the line of a log, a rule."""

from __future__ import annotations

from tests.diagnosis.book import book
from tests.support.ruleset import rules


def test_by_name_and_by_error() -> None:
    symptom = book().symptom("STREAM-OFFLINE")
    assert symptom is not None
    assert symptom.slug == "stream-offline"
    assert book().symptom("nothing") is None
    for known in book().symptoms:
        for code in known.matching.codes:
            assert book().of_code(code) is known
            error = book().api_error(code)
            assert error is not None
            assert error.code == code
    assert book().of_code(1) is None
    assert book().api_error(1) is None


def test_by_signature() -> None:
    by_signature = book().by_signature(rules())
    for rule in rules():
        of_rule = {symptom.slug for symptom in book().symptoms if rule.code in symptom.matching.rules}
        for signature in rule.signatures:
            naming = {symptom.slug for symptom in book().symptoms if signature.name in symptom.matching.signatures}
            assert {symptom.slug for symptom in by_signature[signature.name]} == (naming or of_rule)
    assert any(len(symptoms) == 1 for symptoms in by_signature.values())


def test_by_cause() -> None:
    caused = book().caused_by("JSD403")
    assert caused
    assert {symptom.slug for symptom in caused} == {
        symptom.slug for symptom in book().symptoms if "JSD403" in symptom.causes
    }
    assert book().caused_by("JSD999") == ()
