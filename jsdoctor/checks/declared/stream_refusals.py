"""What a server refuses of a stream's configuration (server: stream.go checkStreamCfg, jetstream_api.go), and of a
change of it (stream.go configUpdateCheck, updateWithAdvisory).

Each refusal names the releases that have it; tests try every field on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.declared.refusal import ServerRefusal, later_fields, of_descriptions, of_negative_numbers
from jsdoctor.checks.declared.stream_origins import KnownStream, TransformUse, faults, of_origins
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import Release, rows
from jsdoctor.model.subjects import is_subject, subject_contains, subjects_overlap

MAX_REPLICAS = 5
_SEPARATORS = frozenset("/\\")
_MIN_NS = 100_000_000
_SECOND_NS = 1_000_000_000
_MAX_NAME_LENGTH = 255
_FORBIDDEN = frozenset(" \t\r\n\f.*>\\/")
_REPUBLISHES_TRANSFORMED = (2, 11)
"""First release that compares what all messages are republished to with the subjects that a transform gives them."""

_ZERO_IS_NONE = (2, 14)
"""First release that reads a limit of 0 as none where it compares new limits with the consumers that are there."""
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
        elif 0 < value < _MIN_NS:
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
    """Servers before 2.11 look only for subjects within their own, later ones for all that meet them."""
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
        over = sorted(
            name
            for name, consumer in consumers.items()
            if _above(consumer.max_ack_pending, wanted.max_ack_pending, zero_counts)
            or _above(consumer.inactive_threshold_ns, wanted.inactive_threshold_ns, zero_counts)
        )
        if over:
            text = f"consumer_limits are below what consumer {over[0]} has"
            yield ServerRefusal("consumer_limits", text, 0, before=_ZERO_IS_NONE if zero_counts else None)
            return


def _above(value: int, limit: int, zero_counts: bool) -> bool:
    return value > limit if zero_counts else 0 < limit < value
