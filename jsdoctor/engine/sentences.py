"""From a sentence of a person to symptoms: what it is about, and what is wrong with that."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

import msgspec

from jsdoctor.engine.passages import MIN_WORDS, passages
from jsdoctor.model.sentence import Topic, Vocabulary

_MAX_WORDS_BETWEEN = 18
"""Maximum number of words between a topic and its complaint."""

_PREFIX = re.compile(r"^(nats: (error: )?|[\w.]*(Exception|Error)\b:?)+", re.MULTILINE)
"""How clients begin an error. What stands behind it may be a sentence, which names something of NATS itself."""

_REPAIR = re.compile(
    r"^\s*(?:fix|feat|perf|refactor|chore)(?:\([^)\n]*\))?!?: +"
    r"(?:drop|remove|delete|close|reset|restart|recreate|rebind|stop|reject|deny|disable|retry|block|wait|ignore|skip)\b",
    re.IGNORECASE,
)
"""How the title of a change begins: its verb is what was done about the problem, not the problem."""

WORD_BOUNDARY = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
"""Where a name in camel case has a new word."""

_JOINED = re.compile(f"{WORD_BOUNDARY}|_")
_SENTENCE_END = re.compile(r"[.!?;]\s|\n\s*\n")
_OF_NATS = re.compile(r"\bnats|\bjet ?stream|\bjsz\b", re.IGNORECASE)


class SentenceMatch(msgspec.Struct, frozen=True):
    """A symptom that a sentence leads to, and the words that do. `share`: from 0 to 1, against the best of the text."""

    slug: str
    words: str
    share: float


class SentenceReader:
    """All topics and complaints, ready to be found."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._topics = [(topic, _whole_words(topic.words)) for topic in vocabulary.topics]
        self._complaints = {name: _whole_words(words) for name, words in vocabulary.complaints.items()}

    def read(self, text: str) -> list[SentenceMatch]:
        """The symptoms that the sentences of a text lead to, the likeliest first; none for lines of logs."""
        of_nats = bool(_OF_NATS.search(_PREFIX.sub("", text)))
        best: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
        for passage, share in passages(text):
            words = _PREFIX.sub("", _REPAIR.sub("", passage))
            if len(words.split()) < MIN_WORDS:
                continue
            plain = _JOINED.sub(" ", words).lower()
            topics = self._topics_of(plain)
            if not of_nats and all(topic.general for topic, _ in topics):
                continue
            for topic, slug, score, stated in self._pairs(plain, topics):
                reading = (score * share, stated)
                best[slug][topic] = max(best[slug].get(topic, reading), reading)
        scores = {slug: sum(score for score, _ in by_topic.values()) for slug, by_topic in best.items()}
        ranked = sorted(scores, key=lambda slug: -scores[slug])
        return [SentenceMatch(slug, max(best[slug].values())[1], scores[slug] / scores[ranked[0]]) for slug in ranked]

    def _topics_of(self, plain: str) -> list[tuple[Topic, re.Match[str]]]:
        return [(topic, match) for topic, pattern in self._topics for match in pattern.finditer(plain)]

    def _pairs(
        self, plain: str, topics: Collection[tuple[Topic, re.Match[str]]]
    ) -> Iterator[tuple[str, str, float, str]]:
        """Each topic with a complaint near it: a symptom of both, its score, and both words."""
        rank = {topic.name: place for place, (topic, _) in enumerate(self._topics)}
        for topic, about in topics:
            weight = 2 - rank[topic.name] / len(self._topics)
            for name, pattern in self._complaints.items():
                distances = [(_words_between(plain, about, match), match) for match in pattern.finditer(plain)]
                near = [(between, match) for between, match in distances if between is not None]
                if not near:
                    continue
                between, complaint = min(near, key=lambda item: item[0])
                stated = " … ".join(match[0] for match in sorted((about, complaint), key=lambda item: item.start()))
                for place, slug in enumerate(topic.leads.get(name, ())):
                    yield topic.name, slug, weight / (1 + place) / (4 + between), stated


def _whole_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$.-])(?:{words})(?![\w$])")


def _words_between(text: str, topic_match: re.Match[str], other: re.Match[str]) -> int | None:
    """How many words stand between two; None for too many, where a sentence ends there, or for the same words."""
    first, second = sorted((topic_match, other), key=lambda match: match.start())
    between = text[first.end() : second.start()]
    if not between or _SENTENCE_END.search(between):
        return None
    count = len(between.split())
    return count if count <= _MAX_WORDS_BETWEEN else None
