"""`rules/sentences.toml` to a `Vocabulary`, or to every mistake in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import tomli

from jsdoctor.model.sentence import Topic, Vocabulary
from jsdoctor.model.typed import convert_to
from jsdoctor.parse.front_matter import PageError

_ANY = "any"
_KEYS = {"name", "words", "general", _ANY}


def parse_vocabulary(origin: str, text: str) -> Vocabulary:
    """Read the file. Raises `PageError` with every mistake found."""
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
    problems = [f"{origin}:1: {problem}" for problem in _problems(table, vocabulary)]
    if problems:
        raise PageError(problems)
    return vocabulary


def _topic(entry: Mapping[str, Any], complaints: Mapping[str, str]) -> Topic:
    leads = {name: entry.get(name, entry.get(_ANY, ())) for name in complaints}
    given = {"name": entry["name"], "words": _joined(entry["words"]), "general": entry.get("general", False)}
    return convert_to({**given, "leads": {name: slugs for name, slugs in leads.items() if slugs}}, Topic)


def _joined(words: str) -> str:
    """Long lists of words go over several lines."""
    return re.sub(r"\n\s*", "", words)


def _problems(table: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[str]:
    for entry in table.get("topic", ()):
        for key in entry.keys() - _KEYS - vocabulary.complaints.keys():
            yield f"topic {entry['name']!r}: no complaint is named {key!r}"
    for name, words in (*vocabulary.complaints.items(), *((topic.name, topic.words) for topic in vocabulary.topics)):
        try:
            empty = re.compile(words).search("")
        except re.error as error:
            yield f"the words of {name!r} are no pattern: {error}"
            continue
        if empty:
            yield f"the words of {name!r} are found in an empty text"
