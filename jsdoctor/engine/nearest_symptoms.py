"""The symptoms whose pages share most words with a text that none of them recognises."""

from __future__ import annotations

import math
import re
from collections import Counter

from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.symptom import Symptom

MAX = 4
_MIN = 4.0
"""One word, be it on a single page, makes no neighbour."""

_WORD = re.compile(r"[a-z]{3,}")
_MAX = 4_000
_COMMON = frozenset(
    {"the", "and", "for", "are", "was", "with", "not", "has", "have", "this", "that", "from", "out", "our"}
)


def nearest_symptoms(text: str, book: SymptomBook) -> tuple[Symptom, ...]:
    """The nearest first; none where no word of weight is shared. Rare words count more than common ones."""
    words = _stems(text[-_MAX:])
    pages = {symptom.slug: _stems(_words_of(symptom)) for symptom in book.symptoms}
    spread = Counter(word for page in pages.values() for word in page)
    scores = {slug: sum(math.log(len(pages) / spread[word]) for word in words & page) for slug, page in pages.items()}
    near = [symptom for symptom in book.symptoms if scores[symptom.slug] > _MIN]
    return tuple(sorted(near, key=lambda symptom: -scores[symptom.slug])[:MAX])


def _words_of(symptom: Symptom) -> str:
    examples = (example for text in symptom.matching.texts for example in text.examples)
    return " ".join((symptom.slug, symptom.title, symptom.means, *symptom.because.values(), *examples))


def _stems(text: str) -> set[str]:
    """Words without their endings, as far as English plurals and participles go."""
    words = {word for word in _WORD.findall(text.lower()) if word not in _COMMON}
    return {re.sub(r"(?:ing|ed|es|s)$", "", word) or word for word in words}
