"""The passages of a text that people wrote: its title and its prose, without code, logs and printed pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINES = 6
MAX_CHARACTERS = 700
"""A longer text is a log, output of a command, or a report with several passages. A longer passage is cut."""

MIN_WORDS = 4

_MAX_PASSAGES = 8
_BODY_WEIGHT = 0.6
"""The body of a report weighs less than its title, which states the problem."""

_MIN_WORD_SHARE = 0.75
"""Smallest share of words without digits and signs in a passage that counts as prose."""

_LOGGED = re.compile(
    r"^\s*(\[\d+\]|\[(INF|WRN|ERR|DBG|TRC|FTL)\]|\d{4}[-/]\d\d[-/]\d\d|\{|at \S+\(|File \"|goroutine \d|panic: "
    r"|[│╭├╰+|])",
    re.MULTILINE,
)
"""Beginnings of lines that programs write: log lines, stack traces, tables."""

_DATED = re.compile(r"^\s*(\w{3} +\d{1,2} \d\d:\d\d|\d\d:\d\d:\d\d|\S+ +\| )|\b(level|msg|ts)=", re.MULTILINE)
"""Lines of syslog, of containers and of loggers with keys, which a report may hold without marking them as code."""

_CODE_BLOCK = re.compile(r"^[ \t>]*```.*?(?:^[ \t>]*```[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_PARAGRAPH = re.compile(r"\n[ \t>]*\n")
_MARKS = re.compile(r"^[\s>#*-]+|[*`]+")
"""Marks of Markdown and of quoted mails."""

_SETTING = re.compile(r"^\s*[\w ().-]{1,40}[:=]\s?\S{0,40}[,{]?$")
_WORD = re.compile(
    r"[\"'(\u201c\u2018]*[A-Za-z][a-z]*(?:['\u2019-][a-z]+)*[\"')\u201d\u2019.,;:!?]*$|[A-Z]{2,}s?[.,;:!?]*$|[A-Z][a-z]+[A-Z]\w*[.,:]?$"
)


def passages(text: str) -> list[tuple[str, float]]:
    """The passages of a text, each with its weight. A short text is one; of a longer one only prose is taken."""
    if len(text) <= MAX_CHARACTERS and text.strip().count("\n") < MAX_LINES and not _LOGGED.search(text):
        return [(text, 1.0)]
    prose = list(_prose(text))[:_MAX_PASSAGES]
    return [(passage, _BODY_WEIGHT if place else 1.0) for place, passage in enumerate(prose)]


def _prose(text: str) -> Iterator[str]:
    paragraphs = _PARAGRAPH.split(_CODE_BLOCK.sub("\n\n", text))
    if len(paragraphs) < 2:
        return  # lines without a blank one between them are what a program wrote
    for paragraph in paragraphs:
        lines = [_MARKS.sub("", line) for line in paragraph.splitlines() if line.strip()]
        if not _LOGGED.search(paragraph) and not _DATED.search(paragraph) and _is_prose(lines):
            yield "\n".join(lines)[:MAX_CHARACTERS]


def _is_prose(lines: list[str]) -> bool:
    """Whether most words are plain words, and at most half of the lines look like settings."""
    words = [word for line in lines for word in line.split()]
    if len(words) < MIN_WORDS or 2 * sum(bool(_SETTING.match(line)) for line in lines) > len(lines):
        return False
    return sum(bool(_WORD.match(word)) for word in words) >= _MIN_WORD_SHARE * len(words)
