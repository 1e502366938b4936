"""Symptom pages to a validated set: slugs and API error codes unique, every cause a rule, every signature known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from jsdoctor.engine.loader import PageText
from jsdoctor.model.evidence import EvidenceSource
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.rule import Rule, RuleStatus
from jsdoctor.model.sentence import Vocabulary
from jsdoctor.model.symptom import ApiErrorCode, Symptom
from jsdoctor.model.typed import decode_as
from jsdoctor.pages.front_matter import PageError
from jsdoctor.pages.symptom_page import parse_symptom_page, parse_vocabulary


class SymptomBook(msgspec.Struct, frozen=True):
    """All symptoms by slug, all errors of the JetStream API by code, and the words of complaints."""

    symptoms: tuple[Symptom, ...]
    api_errors: tuple[ApiErrorCode, ...]
    vocabulary: Vocabulary = Vocabulary()

    def symptom(self, slug: str) -> Symptom | None:
        """The symptom with that slug."""
        return next((symptom for symptom in self.symptoms if symptom.slug == slug.lower()), None)

    def api_error(self, code: int) -> ApiErrorCode | None:
        """The API error with that code."""
        return next((error for error in self.api_errors if error.code == code), None)

    def of_code(self, code: int) -> Symptom | None:
        """The symptom that lists this API error code."""
        return next((symptom for symptom in self.symptoms if code in symptom.matching.codes), None)

    def by_signature(self, rules: Sequence[Rule]) -> dict[str, tuple[Symptom, ...]]:
        """The symptoms of each log signature: those that name it, else that of its rule, else none."""
        symptoms: dict[str, tuple[Symptom, ...]] = {}
        for rule in rules:
            of_rule = tuple(symptom for symptom in self.symptoms if rule.code in symptom.matching.rules)
            for signature in rule.signatures:
                naming = tuple(symptom for symptom in self.symptoms if signature.name in symptom.matching.signatures)
                symptoms[signature.name] = naming or of_rule
        return symptoms

    def caused_by(self, rule_code: str) -> tuple[Symptom, ...]:
        """The symptoms that list this rule as a cause."""
        return tuple(symptom for symptom in self.symptoms if rule_code in symptom.causes)


def load_symptoms(
    pages: Iterable[PageText],
    api_errors: bytes,
    vocabulary: PageText,
    rules: Sequence[Rule],
    *,
    try_patterns: bool = True,
) -> SymptomBook:
    """All symptoms. Raises `PageError` with the mistakes of all pages, and of the vocabulary, together."""
    problems: list[str] = []
    symptoms: list[Symptom] = []
    for page in pages:
        try:
            symptoms.append(parse_symptom_page(page.origin, page.text, try_patterns=try_patterns))
        except PageError as error:
            problems.extend(error.problems)
    words = Vocabulary()
    try:
        words = parse_vocabulary(vocabulary.origin, vocabulary.text)
    except PageError as error:
        problems.extend(error.problems)
    book = SymptomBook(tuple(symptoms), decode_as(api_errors, tuple[ApiErrorCode, ...]), words)
    problems.extend(_misfits(book, rules))
    problems.extend(f"{vocabulary.origin}:1: {problem}" for problem in _unknown_leads(book))
    if problems:
        raise PageError(dict.fromkeys(problems))
    return book


def _misfits(book: SymptomBook, rules: Sequence[Rule]) -> Iterator[str]:
    taken: dict[object, str] = {}
    known = _KnownNames(
        codes=frozenset(rule.code for rule in rules if rule.status is not RuleStatus.RETIRED),
        signatures=frozenset(signature.name for rule in rules for signature in rule.signatures),
        slugs=frozenset(symptom.slug for symptom in book.symptoms),
        api_codes=frozenset(str(error.code) for error in book.api_errors),
    )
    for symptom in book.symptoms:
        here = f"{symptom.origin}:1:"
        if not symptom.origin.endswith(f"/{symptom.slug}.md"):
            yield f"{here} a symptom page is named after its slug: {symptom.slug}.md"
        for key in (symptom.slug, *symptom.matching.codes, *symptom.matching.rules):
            if taken.setdefault(key, symptom.origin) != symptom.origin:
                yield f"{here} {key} is already taken by {taken[key]}"
        yield from (f"{here} {problem}" for problem in _unknown_names(symptom, known))


def _unknown_leads(book: SymptomBook) -> Iterator[str]:
    slugs = {symptom.slug for symptom in book.symptoms}
    for topic in book.vocabulary.topics:
        for slug in {slug for leads in topic.leads.values() for slug in leads} - slugs:
            yield f"topic {topic.name!r}: no symptom is named {slug!r}{did_you_mean(slug, slugs)}"


class _KnownNames(NamedTuple):
    """What pages may name."""

    codes: frozenset[str]
    signatures: frozenset[str]
    slugs: frozenset[str]
    api_codes: frozenset[str]


def _unknown_names(symptom: Symptom, known: _KnownNames) -> Iterator[str]:
    ways = tuple(way for ways in symptom.ruled_out_with.values() for way in ways)
    for names, valid, what in (
        (symptom.causes, known.codes, "no rule has the code"),
        (symptom.matching.signatures, known.signatures, "no signature is named"),
        (symptom.matching.rules, known.codes, "no rule has the code"),
        (symptom.next, known.slugs - {symptom.slug}, "no other symptom is named"),
        (ways, frozenset(EvidenceSource), "no evidence source is named"),
        (map(str, symptom.matching.codes), known.api_codes, "no error of the JetStream API has the code"),
    ):
        for name in names:
            if name not in valid:
                yield f"{what} {name!r}{did_you_mean(name, valid)}"
