"""Under which subjects a stream stores what is published to it, where it rewrites subjects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsdoctor.model.jetstream import SubjectTransform
from jsdoctor.model.subjects import subject_contains, subjects_overlap

_ONE_TOKEN = re.compile(r"\$\d+|\{\{\s*(?:wildcard|partition|random|left|right)\s*\(.*\)\s*\}\}", re.IGNORECASE)
_FUNCTION = re.compile(r"\{\{.*\}\}")


def stored_subjects(subjects: tuple[str, ...], transform: SubjectTransform | None) -> tuple[str, ...]:
    """The patterns of a stream's own messages, those of its mirror and sources left out.

    What the transform's source does not match keeps its subject (server: stream.go processInboundJetStreamMsg).
    """
    if transform is None or not transform.dest:
        return subjects
    return tuple(dict.fromkeys(_stored(subjects, transform.src or ">", _pattern(transform.dest))))


def _stored(subjects: tuple[str, ...], source: str, pattern: str) -> Iterator[str]:
    for subject in subjects:
        if subjects_overlap(source, subject):
            yield pattern
        if not subject_contains(source, subject):
            yield subject


def _pattern(destination: str) -> str:
    """All that the destination can become: functions that split a token may make any number of tokens of it."""
    tokens: list[str] = []
    for token in destination.split("."):
        if _ONE_TOKEN.fullmatch(token):
            tokens.append("*")
        elif _FUNCTION.search(token):
            return ".".join([*tokens, ">"])
        else:
            tokens.append(token)
    return ".".join(tokens)
