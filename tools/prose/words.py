"""Checks the prose of the project against docs/words.toml, the word list of docs/style.md.

Prose is README, CHANGELOG, CONTRIBUTING, docs/, the rule and symptom pages with texts in front matter, help texts, and
the messages, docstrings and comments in jsdoctor/. Code blocks, code spans, link targets and examples of log lines are
left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from jsdoctor.cli.app import commands
from tools.prose.comments import comments
from tools.prose.messages import messages

ROOT = Path(__file__).resolve().parents[2]
WORDS = ROOT / "docs" / "words.toml"
EXEMPT = {"docs/style.md"}
"""The word list."""
# Texts for people in front matter; all other values are names, patterns and lines of logs.
TEXT_KEYS = {"title", "means", "help", "because", "note", "about", "differ", "not_built", "text"}
_MARKDOWN = MarkdownIt("commonmark").enable("table")


class Word(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the word list, or a form of sentence, with the patterns that find it."""

    avoid: str
    write: str
    patterns: tuple[str, ...]
    examples: tuple[str, ...]
    fine: tuple[str, ...]

    def occurrences(self, text: str) -> Iterator[re.Match[str]]:
        """Where *text* uses a word of this row."""
        for pattern in self.patterns:
            yield from re.finditer(pattern, text, re.IGNORECASE)


class Passage(NamedTuple):
    """A paragraph, a cell or a help text, in one line, and its start. `line` is 0 where the place is not a file."""

    place: str
    line: int
    text: str
    breaks: tuple[int, ...] = ()
    """Positions in `text` at which another line of the file begins."""

    def at(self, position: int) -> str:
        """The place of a position in the text, as `file:line`."""
        return (
            f"{self.place}:{self.line + sum(1 for start in self.breaks if start <= position)}"
            if self.line
            else self.place
        )


def words() -> list[Word]:
    """The rows of the word list."""
    return msgspec.convert(tomllib.loads(WORDS.read_text("utf-8"))["word"], list[Word])


def sentences() -> list[Word]:
    """Forms of sentences that docs/style.md rules out."""
    return msgspec.convert(tomllib.loads(WORDS.read_text("utf-8"))["sentence"], list[Word])


def complaints(passage: Passage, listed: list[Word]) -> Iterator[str]:
    """One line for each word of the list that the passage uses."""
    for word in listed:
        for hit in word.occurrences(passage.text):
            context = passage.text[max(0, hit.start() - 40) : hit.end() + 30].strip()
            yield f"{passage.at(hit.start())}: {hit[0]!r} in “{context}”: write {word.write}"


def markdown(place: str, text: str) -> Iterator[Passage]:
    """The paragraphs, headings and cells of a page."""
    for token in _MARKDOWN.parse(text):
        if token.type == "inline" and token.map is not None:
            yield _passage(place, token.map[0] + 1, token.children or [])


def _passage(place: str, line: int, children: list[Token]) -> Passage:
    text, breaks = "", []
    for child in children:
        if child.type in {"softbreak", "hardbreak"}:
            text += " "
            breaks.append(len(text))
        elif child.type == "code_inline":
            text += "`…`"
        elif child.type == "text":
            text += child.content
    return Passage(place, line, text, tuple(breaks))


def front_matter(place: str, text: str) -> Iterator[Passage]:
    """The texts for people in a TOML document."""
    for value in _texts(tomllib.loads(text), ""):
        line = text[: max(0, text.find(value[:40]))].count("\n") + 1
        for passage in markdown(place, value):
            yield passage._replace(line=line, breaks=())


def _texts(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, key if key == "because" else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key)
    elif isinstance(value, str) and key in TEXT_KEYS:
        yield value


def page(place: str, text: str) -> Iterator[Passage]:
    """A Markdown page with or without front matter, or a TOML file of texts."""
    if place.endswith(".toml"):
        yield from front_matter(place, text)
        return
    if text.startswith("+++\n"):
        head, _, text = text[4:].partition("\n+++\n")
        lines = head.count("\n") + 3
        yield from (passage._replace(line=passage.line + 1) for passage in front_matter(place, head))
        yield from (passage._replace(line=passage.line + lines) for passage in markdown(place, text))
    else:
        yield from markdown(place, text)


def help_texts(command: Any = None, name: str = "jsdoctor") -> Iterator[Passage]:
    """What `--help` prints for each command and option; examples keep their lines and are left out."""
    command = command or commands()
    for paragraph in (command.help or "").split("\n\n"):
        if not paragraph.startswith("\b"):
            yield Passage(f"{name} --help", 0, " ".join(paragraph.split()))
    for option in command.params:
        if getattr(option, "help", None):
            yield Passage(f"{name} {option.opts[0]}", 0, option.help)
    for inner, subcommand in getattr(command, "commands", {}).items():
        yield from help_texts(subcommand, f"{name} {inner}")


def files() -> list[Path]:
    """The files that are checked."""
    pages = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("rules/**/*.md"))]
    return [file for file in pages if file.relative_to(ROOT).as_posix() not in EXEMPT]


def passages() -> Iterator[Passage]:
    """All prose of the project."""
    for file in files():
        yield from page(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))
    yield from help_texts()
    for file in sorted((ROOT / "jsdoctor").rglob("*.py")):
        place = file.relative_to(ROOT).as_posix()
        for line, text in messages(file):
            yield Passage(place, line, text)
        for line, text in comments(file):
            yield from (passage._replace(line=passage.line + line - 1) for passage in markdown(place, text))
