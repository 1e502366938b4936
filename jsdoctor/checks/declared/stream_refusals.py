"""What a server refuses of a stream's configuration, new or changed (server: stream.go checkStreamCfg,
configUpdateCheck, jetstream_api.go).

Only what servers of all supported versions refuse alike; tests ask them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.subjects import subjects_overlap

MAX_REPLICAS = 5
_SHORTEST_NS = 100_000_000
_LONGEST_NAME = 255
_FORBIDDEN = frozenset(" \t\r\n\f.*>\\/")
_API = (("$JS.>", "$JS.EVENT."), ("$JSC.>", ""), ("$NRG.>", ""))
_SYSTEM = ("$SYS.>", "$SYS.ACCOUNT.")


class Refusal(NamedTuple):
    """One reason, the field at fault, and the error code of the server; 0 where servers differ in it."""

    field: str
    says: str
    err_code: int = 10052

    @property
    def text(self) -> str:
        """The reason with the server's code, by which logs and clients know it."""
        return f"{self.says} (error {self.err_code})" if self.err_code else self.says


def of_stream(config: StreamConfig) -> Iterator[Refusal]:
    """Why no server creates a stream like this. `config` is as a server would store it."""
    yield from _name(config.name)
    yield from _numbers(config)
    yield from _combinations(config)
    yield from _mirror(config)
    yield from _subjects(config)


def of_change(config: StreamConfig, current: StreamConfig) -> Iterator[Refusal]:
    """Why a server does not change a stream into this."""
    if config.storage != current.storage:
        yield Refusal("storage", f"the storage cannot be changed from {current.storage} to {config.storage}")
    if config.retention != current.retention and "workqueue" in (config.retention, current.retention):
        says = f"the retention cannot be changed from {current.retention} to {config.retention}"
        yield Refusal("retention", says)
    for field in ("sealed", "deny_delete", "deny_purge", "allow_msg_ttl"):
        if getattr(current, field) and not getattr(config, field):
            yield Refusal(field, f"{field} is set and cannot be taken back")
    if config.mirror is not None and config.mirror != current.mirror:
        yield Refusal("mirror", "what a mirror copies cannot be changed", 10055)


def _name(name: str) -> Iterator[Refusal]:
    if not name or _FORBIDDEN & set(name):
        yield Refusal("name", "a stream's name must not be empty nor contain white space, '.', '*', '>', '/' or '\\'")
    elif len(name) > _LONGEST_NAME:
        yield Refusal("name", f"a stream's name has {_LONGEST_NAME} characters at most")


def _numbers(config: StreamConfig) -> Iterator[Refusal]:
    if config.num_replicas > MAX_REPLICAS:
        yield Refusal("num_replicas", f"R{config.num_replicas}: a stream has {MAX_REPLICAS} replicas at most")
    if config.num_replicas < 0:
        yield Refusal("num_replicas", "the number of replicas is negative", 10133)
    for field, value in (("max_age", config.max_age_ns), ("duplicate_window", config.duplicate_window_ns)):
        if value < 0:
            yield Refusal(field, f"{field} is negative")
        elif 0 < value < _SHORTEST_NS:
            yield Refusal(field, f"{field} is shorter than 100ms")
    if 0 < config.max_age_ns < config.duplicate_window_ns:
        yield Refusal("duplicate_window", "the duplicate window is longer than max_age")


def _combinations(config: StreamConfig) -> Iterator[Refusal]:
    if config.deny_purge and config.allow_rollup_hdrs:
        yield Refusal("deny_purge", "deny_purge and allow_rollup_hdrs exclude each other")
    if config.discard_new_per_subject and not config.sealed:
        if config.discard != "new":
            yield Refusal("discard_new_per_subject", "discard_new_per_subject needs discard policy new")
        elif config.max_msgs_per_subject <= 0:
            yield Refusal("discard_new_per_subject", "discard_new_per_subject needs a limit max_msgs_per_subject")


def _mirror(config: StreamConfig) -> Iterator[Refusal]:
    if config.mirror is None:
        names = [source.name for source in config.sources if source.external is None and not source.filter_subject]
        if len(set(names)) < len(names) and not any(source.subject_transforms for source in config.sources):
            yield Refusal("sources", "it has the same source twice", 10140)
        return
    if config.subjects:
        yield Refusal("subjects", "a mirror has no subjects of its own", 10034)
    if config.sources:
        yield Refusal("sources", "a mirror has no sources", 10031)


def _subjects(config: StreamConfig) -> Iterator[Refusal]:
    for number, subject in enumerate(config.subjects):
        if not is_subject(subject):
            yield Refusal("subjects", f"{subject!r} is not a subject")
            continue
        if subject == ">" and not config.no_ack:
            yield Refusal("subjects", "a stream of all subjects ('>') needs no_ack")
        elif subject == ">" and config.num_replicas != 1:
            yield Refusal("subjects", "a stream of all subjects ('>') has one replica")
        elif not config.no_ack and (space := _reserved(subject)):
            yield Refusal("subjects", f"{subject!r} overlaps with the server's own {space}, which needs no_ack")
        for other in config.subjects[number + 1 :]:
            if subjects_overlap(subject, other):
                yield Refusal("subjects", f"its subjects {subject!r} and {other!r} overlap")


def _reserved(subject: str) -> str:
    for space, free in (*_API, _SYSTEM):
        if subjects_overlap(subject, space) and not (free and subject.startswith(free)):
            return space
    return ""


def is_subject(subject: str) -> bool:
    """Whether servers take it for a subject, wildcards included (server: sublist.go isValidSubject)."""
    tokens = subject.split(".")
    if any(not token or any(letter in " \t\n\r\f" for letter in token) for token in tokens):
        return False
    return ">" not in tokens[:-1]
