"""Recognises the symptom in the words of a person, a client or a server, or else those whose pages are nearest."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

import msgspec

from jsdoctor.engine.passages import MIN_WORDS, passages
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import ANY_YEAR
from jsdoctor.logs.paste.rewrite import Rewriter
from jsdoctor.model.rule import Rule, Signature
from jsdoctor.model.sentence import Topic, Vocabulary
from jsdoctor.model.symptom import ApiErrorCode, Symptom

MAX_NEAREST = 4
_MIN_SCORE = 4.0
"""One word, be it on a single page, makes no neighbour."""

_WORD = re.compile(r"[a-z]{3,}")
_MAX_CHARACTERS = 4_000
"""This many characters are compared, from the end."""
_COMMON = frozenset(
    {"the", "and", "for", "are", "was", "with", "not", "has", "have", "this", "that", "from", "out", "our"}
)


def nearest_symptoms(text: str, book: SymptomBook) -> tuple[Symptom, ...]:
    """Up to MAX_NEAREST symptoms whose pages share most words with the text, nearest first. Rare words count more."""
    words = _stems(text[-_MAX_CHARACTERS:])
    pages = {symptom.slug: _stems(_words_of(symptom)) for symptom in book.symptoms}
    spread = Counter(word for page in pages.values() for word in page)
    scores = {
        slug: math.fsum(math.log(len(pages) / spread[word]) for word in words & page) for slug, page in pages.items()
    }
    near = [symptom for symptom in book.symptoms if scores[symptom.slug] > _MIN_SCORE]
    return tuple(sorted(near, key=lambda symptom: -scores[symptom.slug])[:MAX_NEAREST])


def _words_of(symptom: Symptom) -> str:
    examples = (example for text in symptom.matching.texts for example in text.examples)
    return " ".join((symptom.slug, symptom.title, symptom.means, *symptom.because.values(), *examples))


def _stems(text: str) -> set[str]:
    """Words without their endings, as far as English plurals and participles go."""
    words = {word for word in _WORD.findall(text.lower()) if word not in _COMMON}
    return {re.sub(r"(?:ing|ed|es|s)$", "", word) or word for word in words}


MAX_TEXT_LENGTH = 64 * 1024
"""This many characters of a text are read, from its end: the error is what was logged last."""

_MAX_LINE_LENGTH = 4096
_SECRETS = re.compile(
    r"(?<=://)[^/\s@]+(?=@)|(?<=password)\W{1,3}\S+|(?<=token)[=:]\s?\S+|\bS[UAO][A-Z2-7]{56}\b|\beyJ[\w.-]{20,}",
    re.IGNORECASE,
)
"""Logins, passwords, seeds and JWTs: the words of a text are repeated, what is secret in them is not."""

_CODE = re.compile(
    r"""(?:err_code|errcode|errorcode|error\ code|api\ error|code|error|\berr)\W{1,6}(1\d{4})\b  # most clients, JSON
      | [\[(](1\d{4})[\])]                                                                    # Java, the nats command
      | \b(1\d{4})\ (?:api\ )?err(?:or)?[ _]code\b                                          # people
      | ^[ \t]*(1\d{4})[ \t]*$""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_NUMBERS = re.compile(r"wrong last sequence: (?P<actual>\d+)")
_SURE = 1_000_000
_KNOWN_LINE = 10_000
_ENDING = 5_000
_VAGUE = 25
"""Weights: an API error code, a line of a problem, a line that ends a problem. Words weigh their length.

A vague code only repeats the words of another error.
"""
_SENTENCE = 3
"""What a sentence is about weighs less than any wording that is known."""

_MAX_TOLD = 3
_FEW_WORDS = 12
_TELLING = 24
"""A shorter text of an API error may stand in any log."""
_EXCEPTION = re.compile(
    r"\b[A-Za-z]{4,80}(?:Exception|Error)\b|\bErr[A-Z]\w{3,80}|(?<=::)[A-Z]\w{3,80}|(?<=`)(?:[A-Z][a-z]{1,20}){2,5}(?=`)"
)
"""Names of errors, and names that a person quotes from a program."""

_OURS = re.compile(r"\bnats|jet ?stream|\bjsz\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"kafka|rabbit ?mq|activemq|pulsar|kinesis|\bsqs\b|redis|postgres|mysql|mariadb|mongo|oracle|sqlite|cassandra"
    r"|elasticsearch|zookeeper|etcd|consul\b|winerror|winsock|\bwsae|socket error|forcibly closed",
    re.IGNORECASE,
)
"""Systems whose users describe their problems in the same words, or whose errors have the same numbers."""


class Recognised(msgspec.Struct, frozen=True):
    """One reading of a text: the symptom, the part of the text that shows it, and the API errors that it is of."""

    symptom: Symptom
    by: str
    weight: int
    codes: tuple[int, ...] = ()


class Recognition(msgspec.Struct, frozen=True):
    """The result for a text. `symptom` None: it is not known. `also` are other readings, the likelier first.

    `api_error` is the error whose code is in the text, `codes` are those of its words, too. `actual_seq` is the last
    sequence in the error of a refused publish, if the text has it.
    """

    symptom: Symptom | None = None
    by: str = ""
    also: tuple[Recognised, ...] = ()
    api_error: ApiErrorCode | None = None
    codes: frozenset[int] = frozenset()
    actual_seq: int | None = None


class Recogniser:
    """All symptoms, ready to be recognised."""

    def __init__(self, book: SymptomBook, rules: Sequence[Rule]) -> None:
        self._book = book
        self._by_signature = book.by_signature(rules)
        self._matcher = Matcher(
            [signature for rule in rules for signature in rule.signatures if self._by_signature[signature.name]]
        )
        self._rewriter = Rewriter(self._matcher, ANY_YEAR)
        self._error_texts = [(error, words) for error in book.api_errors if _is_telling(words := _fixed_words(error))]
        self._sentences = SentenceReader(book.vocabulary)
        self._endings = {name for rule in rules for signature in rule.signatures for name in signature.endings}

    def text(self, text: str) -> Recognition:
        """The symptom of an error message, a sentence, or lines of a log. Codes weigh most, loose words least."""
        return self._read(text[-MAX_TEXT_LENGTH:])

    def _read(self, text: str, *, about_nats: bool = False) -> Recognition:
        result: dict[str, Recognised] = {}
        codes: dict[str, set[int]] = defaultdict(set)
        for reading in self._readings(text, about_nats):
            codes[reading.symptom.slug].update(reading.codes)
            known = result.get(reading.symptom.slug)
            if known is None or reading.weight > known.weight:
                result[reading.symptom.slug] = reading
        ranked = sorted(result.values(), key=lambda reading: -reading.weight)
        errors = [error for code in _codes(text) if (error := self._book.api_error(code))]
        number = _NUMBERS.search(text)
        return Recognition(
            symptom=ranked[0].symptom if ranked else None,
            by=ranked[0].by if ranked else "",
            also=tuple(ranked[1:]),
            api_error=errors[0] if errors else None,
            codes=frozenset(codes[ranked[0].symptom.slug] if ranked else ()),
            actual_seq=int(number["actual"]) if number else None,
        )

    def question(self, text: str) -> Recognition:
        """The same of what somebody types: a few words that show nothing are read again as if they named NATS."""
        recognition, words = self.text(text), text[-MAX_TEXT_LENGTH:].strip()
        if recognition.symptom or not _is_short_question(words) or _OTHERS.search(words):
            return recognition
        return self._read(words, about_nats=True)

    def code(self, code: int) -> Recognition:
        """The symptom of an API error."""
        error, symptom = self._book.api_error(code), self._book.of_code(code)
        by = f"API error {code}" if symptom else ""
        return Recognition(symptom=symptom, by=by, api_error=error, codes=frozenset({code}))

    def _readings(self, text: str, about_nats: bool) -> Iterator[Recognised]:
        if _OTHERS.search(text) and not _OURS.search(text):
            return
        for code in _codes(text):
            symptom = self._book.of_code(code)
            if symptom is not None:
                error = self._book.api_error(code)
                vague = error is not None and "{err}" in error.text
                yield Recognised(symptom, f"API error {code}", _VAGUE if vague else _SURE, (code,))
        yield from self._quoted_errors(text)
        for signature in self._signatures(text):
            weight = _ENDING if signature.name in self._endings else _KNOWN_LINE
            for symptom in self._by_signature.get(signature.name, ()):
                yield Recognised(symptom, f"the log signature {signature.name}", weight + len(signature.contains))
        yield from self._known_texts(f"nats {text}" if about_nats else text)
        for reported in self._sentences.read(text, about_nats=about_nats)[:_MAX_TOLD]:
            if symptom := self._book.symptom(reported.slug):
                yield Recognised(symptom, f'the words "{reported.words}"', round(reported.share * _SENTENCE))

    def _known_texts(self, text: str) -> Iterator[Recognised]:
        """Wordings of the pages, in the text or in the names of its exceptions."""
        words = "\n".join(line[:_MAX_LINE_LENGTH] for line in text.splitlines())
        names = _spelt_out(text)
        for symptom in self._book.symptoms:
            for known in symptom.matching.texts:
                if match := re.search(known.pattern, words, re.IGNORECASE | re.MULTILINE):
                    shown = _SECRETS.sub("***", match[0])
                    yield Recognised(symptom, f'the words "{shown}" ({known.client})', len(match[0]), known.codes)
                elif match := re.search(known.pattern, names, re.IGNORECASE | re.MULTILINE):
                    yield Recognised(symptom, f'the name of "{match[0]}" ({known.client})', len(match[0]) // 2)

    def _quoted_errors(self, text: str) -> Iterator[Recognised]:
        """Errors of the API that a client or an old command shows without their code."""
        plain = " ".join(text.split()).casefold()
        for error, words in self._error_texts:
            if words in plain and (symptom := self._book.of_code(error.code)):
                yield Recognised(symptom, f"the text of API error {error.code}", len(words), (error.code,))

    def _signatures(self, text: str) -> Iterator[Signature]:
        """Signatures of rules that a symptom names, whoever may have logged the lines."""
        written = self._rewriter.lines_of(text)
        for line in dict.fromkeys((*text.splitlines(), *written)):
            raw = line.encode(errors="replace")
            for message in dict.fromkeys((read_line(raw, ANY_YEAR).text, raw)):
                for server in (True, False):
                    yield from (match.signature for match in self._matcher.match(server, "", message))


def _is_short_question(words: str) -> bool:
    return 0 < len(words.split()) <= _FEW_WORDS and "\n" not in words


def _spelt_out(text: str) -> str:
    """The names of exceptions as words, a line for each: people, and programs in other languages, write the words."""
    names = dict.fromkeys(_EXCEPTION.findall(text)) if _OURS.search(text) else ()
    return "\n".join(re.sub(WORD_BOUNDARY, " ", name) for name in names)


def _fixed_words(error: ApiErrorCode) -> str:
    """The longest fixed part of an error's text."""
    return max(re.split(r"\{\w+\}", error.text), key=len).strip(" :'").casefold()


def _is_telling(words: str) -> bool:
    """Whether no other system is likely to log these words."""
    return len(words) >= _TELLING and words.count(" ") > 1


def _codes(text: str) -> list[int]:
    return [int(next(filter(None, match.groups()))) for match in _CODE.finditer(text)]


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

    def read(self, text: str, *, about_nats: bool = False) -> list[SentenceMatch]:
        """The symptoms that the sentences of a text lead to, the likeliest first; none for lines of logs.

        `about_nats`: it is about NATS, however few words it has.
        """
        of_nats = about_nats or bool(_OF_NATS.search(_PREFIX.sub("", text)))
        best: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
        for passage, share in passages(text):
            words = _PREFIX.sub("", _REPAIR.sub("", passage))
            if len(words.split()) < MIN_WORDS and not about_nats:
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
