"""What a server refuses of mirrors, sources and transforms of subjects.

(Server: stream.go checkStreamCfg, subject_transform.go NewSubjectTransform, sublist.go ValidateMapping.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import product
from typing import NamedTuple

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.model.jetstream import SourceConfig, StreamConfig
from jsdoctor.model.setting import OLDEST, Release
from jsdoctor.model.subjects import is_subject, subject_contains, subjects_overlap

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


KnownStream = Callable[[str], StreamConfig | None]
"""The configuration of a stream of the same account by its name; None: it is not known."""

_FORBIDDEN = frozenset(" \t\r\n\f.*>\\/")
_API = "$JS.API"


_WITHOUT_SOURCE = (2, 11)
"""First release that takes transforms of mirrors and sources without a source."""


class _Codes(NamedTuple):
    """Error codes of one kind of origin: name, message size, two filters, filter, overlap."""

    name: int
    size: int
    both: int
    filter: int
    overlap: int


_MIRROR = _Codes(10142, 10030, 10150, 10151, 10152)
_SOURCE = _Codes(10141, 10046, 10144, 10145, 10147)


def of_origins(config: StreamConfig, known: KnownStream, creating: bool) -> Iterator[ServerRefusal]:
    """Why servers do not take these mirrors and sources."""
    if config.mirror is not None:
        yield from _of_mirror(config)
        yield from _origin("mirror", config.mirror, config, known, creating)
    seen: set[tuple[object, ...]] = set()
    for source in config.sources:
        if source.identity in seen:
            yield ServerRefusal("sources", f"it has the source {source.name} twice", 10140)
        seen.add(source.identity)
        yield from _origin("sources", source, config, known, creating)
    yield from _cycle(config, known)


def _of_mirror(config: StreamConfig) -> Iterator[ServerRefusal]:
    if config.first_seq > 0:
        yield ServerRefusal("first_seq", "a mirror has no first_seq", 10143)
    if config.subjects:
        yield ServerRefusal("subjects", "a mirror has no subjects of its own", 10034)
    if config.sources:
        yield ServerRefusal("sources", "a mirror has no sources", 10031)
    for field, code, since in (
        ("allow_msg_counter", 10173, (2, 12)),
        ("allow_atomic", 10198, (2, 12)),
        ("allow_msg_schedules", 10186, (2, 12)),
        ("allow_batched", 10209, (2, 14)),
    ):
        if getattr(config, field):
            yield ServerRefusal(field, f"a mirror has no {field}", code, since=since)
    if config.subject_delete_marker_ttl_ns > 0:
        yield ServerRefusal("subject_delete_marker_ttl", "a mirror has no subject_delete_marker_ttl", since=(2, 11))


def _origin(
    field: str, origin: SourceConfig, config: StreamConfig, known: KnownStream, creating: bool
) -> Iterator[ServerRefusal]:
    codes = _MIRROR if field == "mirror" else _SOURCE
    if (not origin.name or _FORBIDDEN & set(origin.name)) and (origin.external is None or field == "sources"):
        yield ServerRefusal(field, f"{origin.name!r} is no name of a stream", codes.name)
        return
    if origin.filter_subject and origin.subject_transforms:
        yield ServerRefusal(field, f"{origin.name} has both a filter and transforms", codes.both)
    elif creating and origin.filter_subject and not is_subject(origin.filter_subject):
        yield ServerRefusal(field, f"the filter {origin.filter_subject!r} of {origin.name} is not a subject", 0)
    yield from _transforms(field, origin, codes)
    if origin.external is not None:
        yield from _external(field, origin.external.api, origin.external.deliver)
        return
    there = known(origin.name)
    if there is not None and 0 < config.max_msg_size < there.max_msg_size:
        text = f"max_msg_size {config.max_msg_size:,} is below the {there.max_msg_size:,} of {origin.name}"
        yield ServerRefusal("max_msg_size", text, codes.size)


def _transforms(field: str, origin: SourceConfig, codes: _Codes) -> Iterator[ServerRefusal]:
    transforms = origin.subject_transforms
    for number, transform in enumerate(transforms):
        if transform.src and not is_subject(transform.src):
            yield ServerRefusal(field, f"the filter {transform.src!r} of {origin.name} is not a subject", codes.filter)
            continue
        if not transform.src:
            text = f"a transform of {origin.name} has no source"
            yield ServerRefusal(field, text, codes.filter, before=_WITHOUT_SOURCE)
        for fault in faults(
            transform.src, transform.dest, TransformUse.MIRROR if field == "mirror" else TransformUse.SOURCE
        ):
            yield ServerRefusal(field, f"{origin.name}: {fault.says}", 0, fault.since, fault.before)
        others = [other.src for at, other in enumerate(transforms) if at != number]
        if field == "mirror":
            overlaps = any(subjects_overlap(transform.src, other) for other in others)
        else:
            overlaps = any(subject_contains(other, transform.src) for other in others)
        if overlaps:
            yield ServerRefusal(field, f"the filters of {origin.name} overlap", codes.overlap)
            return


def _external(field: str, api: str, deliver: str) -> Iterator[ServerRefusal]:
    if deliver and not _is_literal(deliver):
        yield ServerRefusal(field, f"the deliver prefix {deliver!r} must be a subject without wildcards", 10024)
    if api and not _is_literal(api):
        yield ServerRefusal(field, f"the API prefix {api!r} must be a subject without wildcards")
    elif api and subjects_overlap(api, _API):
        yield ServerRefusal(field, f"the API prefix {api!r} is that of this account itself", 10021)


def _cycle(config: StreamConfig, known: KnownStream) -> Iterator[ServerRefusal]:
    """A stream that comes to read from itself, over others or at once."""
    waiting: list[StreamConfig] = [config]
    visited: set[str] = set()
    while waiting:
        stream = waiting.pop(0)
        visited.add(stream.name)
        for origin in _local(stream):
            if origin.name in visited:
                if origin is stream.mirror or _meets(stream.subjects, origin.filter_subject):
                    field = "mirror" if config.mirror else "sources"
                    yield ServerRefusal(field, f"{stream.name} reads from {origin.name}, which is a cycle")
                    return
            elif there := known(origin.name):
                waiting.append(there)


def _local(stream: StreamConfig) -> Sequence[SourceConfig]:
    origins = (*stream.sources, *((stream.mirror,) if stream.mirror else ()))
    return [origin for origin in origins if origin.external is None]


def _meets(subjects: tuple[str, ...], wanted: str) -> bool:
    return not wanted or any(subjects_overlap(subject, wanted) for subject in subjects)


def _is_literal(subject: str) -> bool:
    return is_subject(subject) and not {"*", ">"} & set(subject.split("."))
