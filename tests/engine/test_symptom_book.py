"""What leads to a symptom: its name, an error of the API, the line of a log, a rule."""

from __future__ import annotations

from tests.diagnosis.book import book
from tests.ruleset import rules


def test_by_name_and_by_error() -> None:
    symptom = book().symptom("STREAM-OFFLINE")
    assert symptom is not None
    assert symptom.slug == "stream-offline"
    assert book().symptom("nothing") is None
    for one in book().symptoms:
        for code in one.matching.codes:
            assert book().of_code(code) is one
            error = book().api_error(code)
            assert error is not None
            assert error.code == code
    assert book().of_code(1) is None
    assert book().api_error(1) is None


def test_by_signature() -> None:
    by_signature = book().by_signature(rules())
    for rule in rules():
        of_rule = {one.slug for one in book().symptoms if rule.code in one.matching.rules}
        for signature in rule.signatures:
            naming = {one.slug for one in book().symptoms if signature.name in one.matching.signatures}
            assert {one.slug for one in by_signature[signature.name]} == (naming or of_rule)
    assert any(len(found) == 1 for found in by_signature.values())


def test_by_cause() -> None:
    found = book().caused_by("JSD403")
    assert found
    assert {one.slug for one in found} == {one.slug for one in book().symptoms if "JSD403" in one.causes}
    assert book().caused_by("JSD999") == ()
