"""A symptom page (TOML front matter, then Markdown), or `rules/sentences.toml`: what is in it, or every mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import tomli

from jsdoctor.model.sentence import Topic, Vocabulary
from jsdoctor.model.symptom import FIRST_STEPS, Claim, Matching, Symptom, Truth
from jsdoctor.model.typed import convert_to
from jsdoctor.pages.front_matter import PageError, PageReader, split, toml

_ANY = "any"
_TOPIC_KEYS = {"name", "words", "general", _ANY}


def parse_vocabulary(origin: str, text: str) -> Vocabulary:
    """Read `rules/sentences.toml`. Raises `PageError` with every mistake found."""
    try:
        table = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise PageError([f"{origin}:1: {error}"]) from error
    complaints = {name: _joined(words) for name, words in table.get("complaints", {}).items()}
    try:
        topics = tuple(_topic(entry, complaints) for entry in table.get("topic", ()))
    except (KeyError, msgspec.ValidationError) as error:
        raise PageError([f"{origin}:1: a topic needs 'name', 'words' and lists of symptoms: {error}"]) from error
    vocabulary = Vocabulary(topics, complaints)
    problems = [f"{origin}:1: {problem}" for problem in _vocabulary_problems(table, vocabulary)]
    if problems:
        raise PageError(problems)
    return vocabulary


def _topic(entry: Mapping[str, Any], complaints: Mapping[str, str]) -> Topic:
    leads = {name: entry.get(name, entry.get(_ANY, ())) for name in complaints}
    given = {"name": entry["name"], "words": _joined(entry["words"]), "general": entry.get("general", False)}
    return convert_to({**given, "leads": {name: slugs for name, slugs in leads.items() if slugs}}, Topic)


def _joined(words: str) -> str:
    """A pattern without the line breaks that keep long ones readable."""
    return re.sub(r"\n\s*", "", words)


def _vocabulary_problems(table: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[str]:
    for entry in table.get("topic", ()):
        for key in entry.keys() - _TOPIC_KEYS - vocabulary.complaints.keys():
            yield f"topic {entry['name']!r}: no complaint is named {key!r}"
    for name, words in (*vocabulary.complaints.items(), *((topic.name, topic.words) for topic in vocabulary.topics)):
        try:
            empty = re.compile(words).search("")
        except re.error as error:
            yield f"the words of {name!r} are no pattern: {error}"
            continue
        if empty:
            yield f"the words of {name!r} are found in an empty text"


SECTIONS = ("What it means", FIRST_STEPS, "What runbooks claim", "References")
"""Headings of a symptom page, in this order; the claims may be left out where there are none."""

CLAIMS = "What runbooks claim"

_Lists = TypeVar("_Lists", dict[str, tuple[str, ...]], dict[str, tuple[int, ...]])
_KEYS = ("slug", "title", "means", "shown_by", "causes", "because", "next", "ruled_out_with", "errors", "match")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CELL_SEPARATOR = re.compile(r"(?<!\\)\|")


def parse_symptom_page(origin: str, text: str, *, try_patterns: bool = True) -> Symptom:
    """Read one page. `origin` names the file in messages. Raises `PageError` with every mistake found.

    `try_patterns`: each pattern is compared with its examples. Compiling those of all pages takes a tenth of a second.
    """
    page = PageReader(origin, text)
    front, body, body_line = split(page)
    table = toml(page, front)
    page.unknown_keys(table, _KEYS, "the front matter")
    slug = page.text_of(table, "slug", "the front matter")
    if slug and not _SLUG.fullmatch(slug):
        page.problem("slug", f"'slug' is {slug!r}; it must be lower-case words joined by hyphens")
    symptom = Symptom(
        slug=slug,
        title=page.text_of(table, "title", "the front matter"),
        means=page.text_of(table, "means", "the front matter"),
        shown_by=page.text_of(table, "shown_by", "the front matter"),
        matching=_matching(page, table.get("match", {}), try_patterns),
        causes=_texts(page, table, "causes"),
        because=_because(page, table),
        next=_texts(page, table, "next"),
        ruled_out_with=_by_code(page, table, "ruled_out_with", dict[str, tuple[str, ...]]),
        errors=_by_code(page, table, "errors", dict[str, tuple[int, ...]]),
        claims=tuple(_claims(page, body, body_line)),
        body=body,
        origin=origin,
    )
    _check_causes(page, symptom)
    _check_sections(page, body, body_line)
    if page.problems:
        raise PageError(dict.fromkeys(page.problems))
    return symptom


def _matching(page: PageReader, table: Any, try_patterns: bool) -> Matching:
    try:
        matching = convert_to(table, Matching)
    except msgspec.ValidationError as error:
        page.problem("match", f"'match': {error}")
        return Matching()
    if not (matching.codes or matching.signatures or matching.rules or matching.texts):
        page.problem("match", "[match] needs codes, signatures, rules or texts: nothing else leads to the page")
    for text in matching.texts if try_patterns else ():
        for problem in _pattern_problems(text.pattern, text.examples):
            page.problem("match", f"text {text.pattern!r}: {problem}")
    return matching


def _pattern_problems(pattern: str, examples: tuple[str, ...]) -> Iterator[str]:
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        yield f"not a pattern: {error}"
        return
    if compiled.search(""):
        yield "it is found in an empty text"
    if not examples:
        yield "'examples' needs a text as people meet it"
    for example in examples:
        if not compiled.search(example):
            yield f"it is not found in its example {example!r}"


def _texts(page: PageReader, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if isinstance(value, list) and all(isinstance(word, str) and word for word in value):
        if len(set(value)) < len(value):
            page.problem(key, f"{key!r} names something twice")
        return tuple(value)
    page.problem(key, f"{key!r} must be a list of texts")
    return ()


def _because(page: PageReader, table: Mapping[str, Any]) -> dict[str, str]:
    value = table.get("because", {})
    if isinstance(value, dict) and all(isinstance(text, str) and text for text in value.values()):
        return value
    page.problem("because", "[because] must say of each cause, by its code, how it makes the symptom")
    return {}


def _by_code(page: PageReader, table: Mapping[str, Any], key: str, shape: type[_Lists]) -> _Lists:
    try:
        return convert_to(table.get(key, {}), shape)
    except msgspec.ValidationError as error:
        page.problem(key, f"[{key}] must be lists, by the code of a cause: {error}")
        return shape()


def _check_causes(page: PageReader, symptom: Symptom) -> None:
    if not symptom.causes:
        page.problem("causes", "'causes' needs the codes of rules, the most frequent first")
    for code in symptom.causes:
        if code not in symptom.because:
            page.problem("because", f"[because] does not say how {code} makes the symptom")
    named = {"because": symptom.because, "ruled_out_with": symptom.ruled_out_with, "errors": symptom.errors}
    mentioned = [(table, code) for table, codes in named.items() for code in codes]
    for table, code in mentioned:
        if code not in symptom.causes:
            page.problem(code, f"[{table}] names {code}, which is not among the causes")


def _claims(page: PageReader, body: str, body_line: int) -> Iterator[Claim]:
    """The rows of the table below "What runbooks claim"."""
    inside = False
    for number, line in enumerate(body.splitlines(), body_line):
        if line.startswith("## "):
            inside = line[3:].strip() == CLAIMS
        cells = [cell.strip() for cell in _CELL_SEPARATOR.split(line)[1:-1]] if inside and line.startswith("|") else []
        if not cells or cells[0] == "claim" or set(cells[0]) <= set("-: "):
            continue
        if len(cells) != 3 or cells[1] not in list(Truth) or not all(cells):
            words = ", ".join(Truth)
            page.problems.append(f"{page.origin}:{number}: a claim is a row of claim, verdict ({words}), what is so")
            continue
        yield Claim(cells[0], Truth(cells[1]), cells[2])


def _check_sections(page: PageReader, body: str, body_line: int) -> None:
    headings = [line[3:].strip() for line in body.splitlines() if line.startswith("## ")]
    wanted = [section for section in SECTIONS if section in headings or section != CLAIMS]
    if headings != wanted:
        page.problems.append(f"{page.origin}:{body_line}: the sections must be, in this order: {', '.join(wanted)}")
