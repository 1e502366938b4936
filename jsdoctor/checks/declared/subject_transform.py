"""Whether servers take a transform of subjects (server: subject_transform.go NewSubjectTransform, sublist.go
ValidateMapping).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from itertools import product
from typing import NamedTuple

from jsdoctor.model.setting import OLDEST, Release

_FUNCTION = re.compile(r"\{\{\s*(\w+)\s*\((.*)\)\s*\}\}")
_BRACED = re.compile(r"\{\{.+\}\}")
_PLACE = re.compile(r"\$([-+]?\d+)", re.ASCII)
_WHOLE = re.compile(r" *([-+]?\d+) *", re.ASCII)
_FUNCTIONS = (
    *("wildcard", "partition", "split from left", "split from right", "slice from left", "slice from right"),
    *("left", "right", "split", "random"),
)
_SPELLINGS = frozenset(
    "".join(words)
    for function in _FUNCTIONS
    for words in product(*((word, word.capitalize()) for word in function.split()))
)
"""Servers take each word of a function with a small or a capital letter."""

_OF_TWO_NUMBERS = ("splitfromleft", "splitfromright", "slicefromleft", "slicefromright", "left", "right")
_SIDES = ("left", "right")
_SIDES_SINCE: Release = (2, 15)
"""First release that takes these two in all transforms; where a stream republishes, all releases do."""

_NO_WILDCARD_NEEDED = ("random", "partition")
_SHORTER: Release = (2, 12)
"""First release with `random(n)`, with `partition(n)`, and with both where the source has no wildcard."""

_MAX = (1 << 31) - 1
_MAX_SINCE: Release = (2, 12)
"""First release that refuses more partitions; older ones take them, and have no `random` in transforms."""


class TransformUse(Enum):
    """What a transform is for: servers do not read all of them alike."""

    STREAM = "stream"
    MIRROR = "mirror"
    SOURCE = "source"
    REPUBLISH = "republish"


class TransformFault(NamedTuple):
    """What is wrong with a transform, and the releases that refuse it for that."""

    says: str
    since: Release = OLDEST
    before: Release | None = None


def faults(source: str, destination: str, use: TransformUse) -> Iterator[TransformFault]:
    """What servers refuse; the first that all releases refuse ends the search.

    An empty destination is no transform, an empty source stands for all subjects.
    """
    if not destination:
        return
    source = source or ">"
    if not _well_formed(source):
        yield TransformFault(f"the source {source!r} is not a subject")
        return
    tokens, wildcards = destination.split("."), source.split(".").count("*")
    if not _well_formed(destination):
        yield TransformFault(f"the destination {destination!r} is not a subject")
    elif "*" in tokens:
        yield TransformFault(f"the destination {destination!r} has a wildcard: write {{{{wildcard(1)}}}} for the first")
    elif (tokens[-1] == ">") != (source.split(".")[-1] == ">"):
        yield TransformFault(f"source {source!r} and destination {destination!r} must both end in '>', or neither")
    else:
        for token in tokens:
            yield from _token(token, wildcards, ">" in source.split("."), use)


def _token(token: str, wildcards: int, rest: bool, use: TransformUse) -> Iterator[TransformFault]:
    """`rest`: the source ends in `>`."""
    if number := _PLACE.fullmatch(token):
        name, positions = "wildcard", [int(number[1])]
    elif len(token) <= 4 or not _BRACED.fullmatch(token):
        return
    else:
        match = _FUNCTION.search(token)
        if match is None or match[1] not in _SPELLINGS:
            yield TransformFault(f"{token} is no function of subject transforms")
            return
        name, arguments = match[1].lower(), re.split(r",\s*", match[2])
        read = _positions(name, arguments)
        if read is None:
            yield TransformFault(f"{token} does not have the arguments that it needs")
            return
        positions = read
        if name in _NO_WILDCARD_NEEDED and int(arguments[0]) > _MAX:
            yield TransformFault(f"{token} has more than {_MAX:,} partitions", since=_MAX_SINCE)
    if name in _SIDES and use is not TransformUse.REPUBLISH:
        since = OLDEST if use is TransformUse.SOURCE else _SHORTER
        yield TransformFault(f"{token} is no function of a stream's transform", since, _SIDES_SINCE)
    if any(position > wildcards for position in positions) and (wildcards or rest):
        yield TransformFault(f"{token} refers to more wildcards than the source has ({wildcards})")
    elif not wildcards and name not in _NO_WILDCARD_NEEDED:
        yield TransformFault(
            f"{token} refers to a wildcard, and the source has none", before=_SHORTER if rest else None
        )
    elif not wildcards or name == "random" or (name == "partition" and not positions):
        yield TransformFault(f"{token}: servers before 2.12 do not take it so", before=_SHORTER)


def _positions(name: str, arguments: list[str]) -> list[int] | None:
    """The wildcards that a function refers to; None where its arguments are wrong."""
    if name == "split":
        if len(arguments) != 2 or " " in arguments[1]:
            return None
        return _numbers(arguments[:1])
    numbers = _numbers(arguments)
    if numbers is None:
        return None
    wanted = {"wildcard": 1, "random": 1} | dict.fromkeys(_OF_TWO_NUMBERS, 2)
    if len(numbers) != wanted.get(name, len(numbers)):
        return None
    if name in _NO_WILDCARD_NEEDED:
        return numbers[1:]
    return numbers[:1]


def _numbers(arguments: list[str]) -> list[int] | None:
    matches = [_WHOLE.fullmatch(argument) for argument in arguments]
    numbers = [int(match[1]) for match in matches if match]
    return numbers if len(numbers) == len(matches) else None


def _well_formed(subject: str) -> bool:
    tokens = subject.split(".")
    return all(tokens) and ">" not in tokens[:-1]
