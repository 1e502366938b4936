"""Small books of symptoms, for tests of one property at a time."""

from collections.abc import Mapping
from typing import Any

from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.sentence import Vocabulary
from jsdoctor.model.symptom import ApiErrorCode, KnownText, Matching, Symptom


def page(
    slug: str,
    *texts: KnownText,
    title: str = "",
    means: str = "",
    causes: tuple[str, ...] = (),
    because: Mapping[str, str] | None = None,
    **match: Any,
) -> Symptom:
    """A page with these texts, and with `match` as its front matter has it."""
    return Symptom(
        slug=slug,
        title=title,
        means=means,
        shown_by="",
        causes=causes,
        because=because or {},
        matching=Matching(texts=texts, **match),
    )


def text(pattern: str, client: str = "Go") -> KnownText:
    """Words of a client."""
    return KnownText(client, pattern, ())


def error(code: int, words: str) -> ApiErrorCode:
    """An error of the JetStream API."""
    return ApiErrorCode(code, 500, f"JSError{code}", words)


def book_of(
    *pages: Symptom, errors: tuple[ApiErrorCode, ...] = (), vocabulary: Vocabulary | None = None
) -> SymptomBook:
    """A book of these pages."""
    return SymptomBook(pages, errors, vocabulary or Vocabulary())
