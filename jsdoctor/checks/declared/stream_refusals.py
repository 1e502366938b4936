"""What a server refuses of a stream's configuration, its transforms and origins included, and of a change of it.

Each refusal names the releases that have it; tests try every field on each of them. Server: stream.go checkStreamCfg,
configUpdateCheck, updateWithAdvisory, jetstream_api.go, subject_transform.go NewSubjectTransform, sublist.go
ValidateMapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import product
from typing import NamedTuple

from jsdoctor.checks.declared.refusal import ServerRefusal, later_fields, of_descriptions, of_negative_numbers
from jsdoctor.model.jetstream import ConsumerConfig, SourceConfig, StreamConfig
from jsdoctor.model.setting import OLDEST, Release, rows
from jsdoctor.model.subjects import is_subject, subject_contains, subjects_overlap

MAX_REPLICAS = 5
_SEPARATORS = frozenset("/\\")
_MIN_AGE_NS = 100_000_000
_SECOND_NS = 1_000_000_000
_MAX_NAME_LENGTH = 255
_FORBIDDEN = frozenset(" \t\r\n\f.*>\\/")
_REPUBLISHES_TRANSFORMED = (2, 11)
"""First release that compares what all messages are republished to with the subjects that a transform gives them."""

_ZERO_IS_NONE = (2, 14)
"""First release that reads a limit of 0 as none when it compares new limits with existing consumers."""
STRICT = (2, 12)
"""First release that refuses fields it does not know; older ones drop them."""


def of_stream(config: StreamConfig, known: KnownStream, creating: bool) -> Iterator[ServerRefusal]:
    """Why servers refuse a stream like this. `config` is as a server would check it (`stream_as_checked`),
    `known` finds the streams that it mirrors or sources, `creating` is true for a new stream and false for a change.
    """
    name = config.name
    if not name or _FORBIDDEN & set(name):
        text = "a stream's name must not be empty nor contain white space, '.', '*', '>', '/' or '\\'"
        yield ServerRefusal("name", text, 10128 if _SEPARATORS & set(name) else 10052)
    elif len(name) > _MAX_NAME_LENGTH:
        yield ServerRefusal("name", f"a stream's name has {_MAX_NAME_LENGTH} characters at most")
    yield from of_descriptions(config.description, config.metadata, 10052, 10052)
    if config.placement and config.placement.preferred:
        yield ServerRefusal("placement", "a placement must not have a preferred server", since=(2, 11))
    yield from _numbers(config)
    yield from _combinations(config)
    yield from _features(config)
    yield from _unknown_fields(config)
    if creating:
        if config.sealed:
            yield ServerRefusal("sealed", "a stream cannot be created sealed")
        if config.mirror_direct and not config.mirror:
            yield ServerRefusal("mirror_direct", "mirror_direct is for mirrors")
    yield from of_origins(config, known, creating)
    yield from _subjects(config)
    yield from _transforms(config)


def dropped_fields(config: StreamConfig, release: tuple[int, ...]) -> Iterator[ServerRefusal]:
    """Fields that a server of this release leaves out silently or reads as something else."""
    yield from of_negative_numbers(config)
    if release and release < STRICT:
        yield from later_fields(config, release)


def _numbers(config: StreamConfig) -> Iterator[ServerRefusal]:
    if config.num_replicas > MAX_REPLICAS:
        yield ServerRefusal("num_replicas", f"R{config.num_replicas}: a stream has {MAX_REPLICAS} replicas at most")
    if config.num_replicas < 0:
        yield ServerRefusal("num_replicas", "the number of replicas is negative", 10133)
    for field, value in (("max_age", config.max_age_ns), ("duplicate_window", config.duplicate_window_ns)):
        if value < 0:
            yield ServerRefusal(field, f"{field} is negative")
        elif 0 < value < _MIN_AGE_NS:
            yield ServerRefusal(field, f"{field} is shorter than 100ms")
    if 0 < config.max_age_ns < config.duplicate_window_ns:
        yield ServerRefusal("duplicate_window", "the duplicate window is longer than max_age")
    marker = config.subject_delete_marker_ttl_ns
    if marker < 0:
        yield ServerRefusal("subject_delete_marker_ttl", "subject_delete_marker_ttl is negative", since=(2, 11))
    elif 0 < marker < _SECOND_NS:
        yield ServerRefusal("subject_delete_marker_ttl", "subject_delete_marker_ttl is shorter than 1s", since=(2, 11))


def _combinations(config: StreamConfig) -> Iterator[ServerRefusal]:
    if config.deny_purge and config.allow_rollup_hdrs:
        yield ServerRefusal("deny_purge", "deny_purge and allow_rollup_hdrs exclude each other")
    if config.discard_new_per_subject:
        if config.discard != "new":
            yield ServerRefusal("discard_new_per_subject", "discard_new_per_subject needs discard policy new")
        elif config.max_msgs_per_subject <= 0:
            yield ServerRefusal("discard_new_per_subject", "discard_new_per_subject needs a limit max_msgs_per_subject")


def _features(config: StreamConfig) -> Iterator[ServerRefusal]:
    if config.allow_msg_counter:
        yield from _counter(config)
    if config.allow_msg_schedules and config.discard == "new":
        text = "a stream with allow_msg_schedules cannot have discard policy new"
        yield ServerRefusal("allow_msg_schedules", text, since=(2, 14))
    if config.allow_msg_schedules and config.sources:
        yield ServerRefusal("allow_msg_schedules", "a stream with sources has no schedules", 10187, since=(2, 12))
    if config.persist_mode == "async":
        for wrong, text in (
            (config.storage != "file", "needs file storage"),
            (config.num_replicas > 1, "needs one replica"),
            (config.allow_atomic, "excludes allow_atomic"),
        ):
            if wrong:
                yield ServerRefusal("persist_mode", f"persist_mode async {text}", since=(2, 12))


def _counter(config: StreamConfig) -> Iterator[ServerRefusal]:
    for wrong, text, since in (
        (config.discard == "new", "discard policy new", (2, 12)),
        (config.allow_msg_ttl, "allow_msg_ttl", (2, 12)),
        (config.retention != "limits", f"{config.retention} retention", (2, 12)),
        (config.allow_msg_schedules, "allow_msg_schedules", (2, 14)),
    ):
        if wrong:
            yield ServerRefusal("allow_msg_counter", f"a counter stream cannot have {text}", since=since)


def _unknown_fields(config: StreamConfig) -> Iterator[ServerRefusal]:
    for row in rows(StreamConfig):
        since = row.setting.since
        if since > STRICT and getattr(config, row.attribute) != row.default:
            text = f"servers before {since[0]}.{since[1]} have no {row.name}"
            yield ServerRefusal(row.name, text, 10025, since=STRICT, before=since)


def _subjects(config: StreamConfig) -> Iterator[ServerRefusal]:
    for number, subject in enumerate(config.subjects):
        if not is_subject(subject):
            yield ServerRefusal("subjects", f"{subject!r} is not a subject")
            continue
        if subject == ">" and not config.no_ack:
            yield ServerRefusal("subjects", "a stream of all subjects ('>') needs no_ack")
        elif subject == ">" and config.num_replicas != 1:
            yield ServerRefusal("subjects", "a stream of all subjects ('>') has one replica")
        elif not config.no_ack:
            yield from _reserved(subject)
        for other in config.subjects[number + 1 :]:
            if subjects_overlap(subject, other):
                yield ServerRefusal("subjects", f"its subjects {subject!r} and {other!r} overlap")


def _reserved(subject: str) -> Iterator[ServerRefusal]:
    """A refusal of a subject that overlaps with the server's own; before 2.11 only of one within these."""
    for space in ("$JS.>", "$JSC.>", "$NRG.>", "$SYS.>"):
        if not subjects_overlap(subject, space):
            continue
        if subject_contains("$SYS.ACCOUNT.>" if space == "$SYS.>" else "$JS.EVENT.>", subject):
            continue
        inside = subject_contains(space, subject) and space != "$NRG.>"
        text = f"{subject!r} overlaps with the server's own {space}, which needs no_ack"
        yield ServerRefusal("subjects", text, since=(2, 10) if inside else (2, 11))
        return


def _transforms(config: StreamConfig) -> Iterator[ServerRefusal]:
    if transform := config.subject_transform:
        for fault in faults(transform.src, transform.dest, TransformUse.STREAM):
            yield ServerRefusal("subject_transform", fault.says, 0, fault.since, fault.before)
    republish = config.republish
    if republish is None:
        return
    source, dest = republish.src or ">", republish.dest
    if dest == ">" and source == ">" and transform and config.subjects == (transform.src,):
        yield from _cycles(config, dest, before=_REPUBLISHES_TRANSFORMED)
        source = dest = transform.dest
    if cycles := list(_cycles(config, dest)):
        yield from cycles
    else:
        for fault in faults(source, dest, TransformUse.REPUBLISH):
            yield ServerRefusal("republish", f"republish: {fault.says}", since=fault.since, before=fault.before)


def _cycles(config: StreamConfig, dest: str, before: Release | None = None) -> Iterator[ServerRefusal]:
    for subject in config.subjects:
        if subjects_overlap(dest, subject):
            text = f"it republishes to {dest!r}, which is its own subject {subject!r}"
            yield ServerRefusal("republish", text, before=before)
            return


def of_change(
    config: StreamConfig, current: StreamConfig, consumers: Mapping[str, ConsumerConfig]
) -> Iterator[ServerRefusal]:
    """Why servers do not change a stream into this. `config` is as a server would check it, `consumers` are those of
    the stream, by name.
    """
    if config.storage != current.storage:
        yield ServerRefusal("storage", f"the storage cannot be changed from {current.storage} to {config.storage}")
    if config.retention != current.retention and "workqueue" in (config.retention, current.retention):
        text = f"the retention cannot be changed from {current.retention} to {config.retention}"
        yield ServerRefusal("retention", text)
    for row in rows(StreamConfig):
        if row.setting.lasting and getattr(current, row.attribute) and not getattr(config, row.attribute):
            yield ServerRefusal(row.name, f"{row.name} is set and cannot be taken back", since=row.setting.since)
    if config.mirror != current.mirror:
        promoted = config.mirror is None
        text = "a mirror cannot become an ordinary stream" if promoted else "what a mirror copies cannot be changed"
        yield ServerRefusal("mirror", text, 10055, before=(2, 12) if promoted else None)
    if config.allow_msg_counter != current.allow_msg_counter:
        yield ServerRefusal("allow_msg_counter", "allow_msg_counter cannot be changed", since=(2, 12))
    if (config.persist_mode or "default") != (current.persist_mode or "default"):
        yield ServerRefusal("persist_mode", "persist_mode cannot be changed", since=(2, 12))
    if config.max_consumers != current.max_consumers:
        yield ServerRefusal("max_consumers", "max_consumers cannot be changed", before=(2, 11))
    yield from _consumer_limits(config, current, consumers)


def _consumer_limits(
    config: StreamConfig, current: StreamConfig, consumers: Mapping[str, ConsumerConfig]
) -> Iterator[ServerRefusal]:
    wanted, was = config.consumer_limits, current.consumer_limits
    if wanted == was:
        return
    for zero_counts in (False, True):
        exceeding = sorted(
            name
            for name, consumer in consumers.items()
            if _exceeds(consumer.max_ack_pending, wanted.max_ack_pending, zero_counts)
            or _exceeds(consumer.inactive_threshold_ns, wanted.inactive_threshold_ns, zero_counts)
        )
        if exceeding:
            text = f"consumer_limits are below what consumer {exceeding[0]} has"
            yield ServerRefusal("consumer_limits", text, 0, before=_ZERO_IS_NONE if zero_counts else None)
            return


def _exceeds(value: int, limit: int, zero_counts: bool) -> bool:
    return value > limit if zero_counts else 0 < limit < value


_FUNCTION = re.compile(r"\{\{\s*(\w+)\s*\((.*)\)\s*\}\}")
_BRACED = re.compile(r"\{\{.+\}\}")
_DOLLAR_TOKEN = re.compile(r"\$([-+]?\d+)", re.ASCII)
_INTEGER = re.compile(r" *([-+]?\d+) *", re.ASCII)
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

_TWO_ARGUMENTS = ("splitfromleft", "splitfromright", "slicefromleft", "slicefromright", "left", "right")
_SIDES = ("left", "right")
_SIDES_SINCE: Release = (2, 15)
"""First release that takes these two in all transforms; where a stream republishes, all releases do."""

_NO_WILDCARD_NEEDED = ("random", "partition")
_MIN_BRACED_LENGTH = 5
"""Shorter tokens are taken literally, even with braces."""
_SHORT_FORMS_SINCE: Release = (2, 12)
"""First release with `random(n)`, with `partition(n)`, and with both where the source has no wildcard."""

_MAX_PARTITIONS = (1 << 31) - 1
_MAX_PARTITIONS_SINCE: Release = (2, 12)
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
    """What servers refuse of a transform; the first fault that all releases refuse ends the search.

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
            yield from _token_faults(token, wildcards, ">" in source.split("."), use)


def _token_faults(token: str, wildcards: int, rest: bool, use: TransformUse) -> Iterator[TransformFault]:
    """What servers refuse of one token of a destination. `rest`: the source ends in `>`."""
    if number := _DOLLAR_TOKEN.fullmatch(token):
        name, positions = "wildcard", [int(number[1])]
    elif len(token) < _MIN_BRACED_LENGTH or not _BRACED.fullmatch(token):
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
        if name in _NO_WILDCARD_NEEDED and int(arguments[0]) > _MAX_PARTITIONS:
            yield TransformFault(f"{token} has more than {_MAX_PARTITIONS:,} partitions", since=_MAX_PARTITIONS_SINCE)
    if name in _SIDES and use is not TransformUse.REPUBLISH:
        since = OLDEST if use is TransformUse.SOURCE else _SHORT_FORMS_SINCE
        yield TransformFault(f"{token} is no function of a stream's transform", since, _SIDES_SINCE)
    if any(position > wildcards for position in positions) and (wildcards or rest):
        yield TransformFault(f"{token} refers to more wildcards than the source has ({wildcards})")
    elif not wildcards and name not in _NO_WILDCARD_NEEDED:
        yield TransformFault(
            f"{token} refers to a wildcard, and the source has none", before=_SHORT_FORMS_SINCE if rest else None
        )
    elif not wildcards or name == "random" or (name == "partition" and not positions):
        yield TransformFault(f"{token}: servers before 2.12 do not take it so", before=_SHORT_FORMS_SINCE)


def _positions(name: str, arguments: list[str]) -> list[int] | None:
    """The wildcards that a function refers to; None where its arguments are wrong."""
    if name == "split":
        if len(arguments) != 2 or " " in arguments[1]:
            return None
        return _whole_numbers(arguments[:1])
    numbers = _whole_numbers(arguments)
    if numbers is None:
        return None
    wanted = {"wildcard": 1, "random": 1} | dict.fromkeys(_TWO_ARGUMENTS, 2)
    if len(numbers) != wanted.get(name, len(numbers)):
        return None
    if name in _NO_WILDCARD_NEEDED:
        return numbers[1:]
    return numbers[:1]


def _whole_numbers(arguments: list[str]) -> list[int] | None:
    matches = [_INTEGER.fullmatch(argument) for argument in arguments]
    numbers = [int(match[1]) for match in matches if match]
    return numbers if len(numbers) == len(matches) else None


def _well_formed(subject: str) -> bool:
    tokens = subject.split(".")
    return all(tokens) and ">" not in tokens[:-1]


KnownStream = Callable[[str], StreamConfig | None]
"""The configuration of a stream of the same account by its name; None: it is not known."""

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
    yield from _origin_cycle(config, known)


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
    yield from _origin_transforms(field, origin, codes)
    if origin.external is not None:
        yield from _external(field, origin.external.api, origin.external.deliver)
        return
    origin_config = known(origin.name)
    if origin_config is not None and 0 < config.max_msg_size < origin_config.max_msg_size:
        text = f"max_msg_size {config.max_msg_size:,} is below the {origin_config.max_msg_size:,} of {origin.name}"
        yield ServerRefusal("max_msg_size", text, codes.size)


def _origin_transforms(field: str, origin: SourceConfig, codes: _Codes) -> Iterator[ServerRefusal]:
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


def _origin_cycle(config: StreamConfig, known: KnownStream) -> Iterator[ServerRefusal]:
    """A refusal if a stream reads from itself, directly or through others."""
    waiting: list[StreamConfig] = [config]
    visited: set[str] = set()
    while waiting:
        stream = waiting.pop(0)
        visited.add(stream.name)
        for origin in _local(stream):
            if origin.name in visited:
                if origin is stream.mirror or _overlaps_filter(stream.subjects, origin.filter_subject):
                    field = "mirror" if config.mirror else "sources"
                    yield ServerRefusal(field, f"{stream.name} reads from {origin.name}, which is a cycle")
                    return
            elif origin_config := known(origin.name):
                waiting.append(origin_config)


def _local(stream: StreamConfig) -> Sequence[SourceConfig]:
    origins = (*stream.sources, *((stream.mirror,) if stream.mirror else ()))
    return [origin for origin in origins if origin.external is None]


def _overlaps_filter(subjects: tuple[str, ...], wanted: str) -> bool:
    return not wanted or any(subjects_overlap(subject, wanted) for subject in subjects)


def _is_literal(subject: str) -> bool:
    return is_subject(subject) and not {"*", ">"} & set(subject.split("."))
