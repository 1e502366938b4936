"""What reads the clipboard, in small pieces: lines, pages and questions, hundreds of thousands of them in minutes."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from random import Random

from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.model.report import Report
from jsdoctor.pasted.sample import pasted_sample, with_unseen
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.file_kinds import pasted_replies
from tests.diagnosis.book import book, recogniser
from tests.fuzz.mutation import mutate_text
from tests.logs.shapes import SHAPES, dressed
from tests.support.evidence import FIXTURES
from tests.support.ruleset import checks, rules

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECRET = "c0rrect-H0rse_Battery"
PLANTED = (f" nats://u:{SECRET}@h:4222 ", f" --password {SECRET} ", f' {{"token": "{SECRET}"}} ')
ESCAPES = ("\x1b]0;owned\x07", "\x1b[2J\x1b[31m", "\x9b31m", "\u202e", "\x08\x08")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SERVERS = re.compile(r"\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[[A-Z]{3}\] ")
_FORMATS = ("text", "markdown", "github", "nagios", "prometheus")
_PIECE_LINES = 40
_SHORT = 400
_LONG_SHARE = 0.01


class EchoError(AssertionError):
    """A secret or an escape of what was pasted is in what came out."""


@cache
def lines() -> list[bytes]:
    """An example of each signature, bare and in the forms in which logs are pasted and exported."""
    examples = [example for rule in rules() for signature in rule.signatures for example in signature.examples]
    of_servers = [example for example in examples if _SERVERS.match(example)]
    in_forms = [dressed(SHAPES[number % len(SHAPES)], example) for number, example in enumerate(of_servers)]
    return [line.encode() for text in (*examples, *in_forms) for line in text.splitlines()]


@cache
def pages() -> list[bytes]:
    """Pieces of the recorded pages of commands and replies of servers, as much as one screen shows."""
    pieces = []
    for path in sorted((FIXTURES / "pasted").glob("*/*")):
        text = path.read_text("utf-8").splitlines(keepends=True)
        pieces += ["".join(text[at : at + _PIECE_LINES])[:8_000].encode() for at in range(0, len(text), _PIECE_LINES)]
    return pieces


@cache
def questions() -> list[bytes]:
    """The words by which symptoms are known."""
    return [
        example.encode()
        for symptom in book().symptoms
        for known in symptom.matching.texts
        for example in known.examples
    ]


def mutate_with_plants(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """Changed text with an escape in one of its lines and a secret in another, or in the same one. Few are long."""
    changed = mutate_text(random, data, corpus)
    longest = len(changed) if random.random() < _LONG_SHARE else max(2 * len(data), _SHORT)
    text = changed[:longest].decode(errors="replace").splitlines(keepends=True) or [""]
    for plant in (random.choice(ESCAPES), random.choice(PLANTED)):  # in this order, none is inside of a secret
        number = random.randrange(len(text))
        words = text[number].split(" ")
        words.insert(random.randrange(len(words) + 1), plant)
        text[number] = " ".join(words)
    return "".join(text).encode(errors="replace")


def check_line(data: bytes) -> None:
    """A line is taken apart, matched and cleaned."""
    line = read_line(data, LogYear(NOW.year))
    _matcher().match(line.server, line.level, line.text)
    if SECRET in scrub_line(data.decode(errors="replace")):
        raise EchoError("the secret is still there")


def check_page(data: bytes) -> None:
    """A piece of a page gives replies and refusals."""
    pasted_replies(data.decode(errors="replace"), NOW)


def check_question(data: bytes) -> None:
    """A question is recognised or not."""
    recogniser().text(data.decode(errors="replace"))


def check_shown(data: bytes) -> None:
    """The report of a piece of a page repeats neither its secrets nor its escapes."""
    pasted = pasted_sample(pasted_replies(data.decode(errors="replace"), NOW), NOW)
    evidence = with_unseen(assemble((pasted.sample,)), [pasted])
    evaluation = evaluate(select_rules(rules()), checks(), evidence, {})
    report = Report(
        version="0",
        started=NOW,
        finished=NOW,
        sources=(),
        verdicts=evaluation.verdicts,
        results=evaluation.results,
        gaps=(*evidence.gaps, *evaluation.gaps),
        headline="",
    )
    for name in _FORMATS:
        shown = FORMATS[name](scrubbed(report), RenderOptions(verbose=2, max_examples=2))
        if SECRET in shown or _CONTROL.search(shown):
            raise EchoError(f"{name} repeats a secret or an escape")


@cache
def _matcher() -> Matcher:
    return Matcher([signature for rule in rules() for signature in rule.signatures])
