"""The shipped symptoms, loaded once for all tests."""

from functools import cache

from jsdoctor.engine.recognition import Recogniser
from jsdoctor.engine.symptoms import SymptomBook, load_symptoms
from jsdoctor.sources.rule_pages import api_errors, symptom_pages, vocabulary
from tests.support.ruleset import rules


@cache
def book() -> SymptomBook:
    """Every shipped symptom and API error."""
    return load_symptoms(symptom_pages(), api_errors(), vocabulary(), rules())


@cache
def recogniser() -> Recogniser:
    """Ready to recognise every shipped symptom."""
    return Recogniser(book(), rules())
