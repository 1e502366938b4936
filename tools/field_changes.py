"""Changes of one field of a stream or consumer to every kind of value, from many starting points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import OLDEST, rows
from tools.field_values import CONSUMER, HOUR, NEW_CONSUMER, NEW_STREAM, STREAM, Json, S

ON_A, ON_B = 19, 5
"""Messages on the two subjects of a stream before the change: more on one than half of them."""

MAX_SHOWN = 160
"""Characters of a value that is shown whole."""


@dataclass(frozen=True)
class Start:
    """A stream with what is on it before the change. `since`: the first release that knows its fields.

    `new`: the stream is not there before the change. `fields`: the only ones that change; empty for all.
    """

    name: str
    stream: Json
    consumers: tuple[Json, ...] = ()
    since: tuple[int, int] = (2, 10)
    published: bool = True
    new: bool = False
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConsumerStart:
    """A consumer on a stream of its own, with the others that it has. `new`: it is not there before the change.

    `fields`: the only ones that change; empty for all.
    """

    name: str
    consumer: Json
    stream: Json | None = None
    others: tuple[Json, ...] = ()
    since: tuple[int, int] = (2, 10)
    new: bool = False
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class FieldChange:
    """One field of a stream, or of its consumer `reader`, gets another value. `before` is None for a new one."""

    name: str
    start: str
    field: str
    value: Any
    before: Json | None
    after: Json
    stream: Json | None = None
    others: tuple[Json, ...] = ()
    published: bool = True

    @property
    def of_consumer(self) -> bool:
        """Whether it is the consumer that changes."""
        return self.stream is not None

    @property
    def asset(self) -> str:
        """What it will be called: the name may be what changes."""
        return str(self.after.get("durable_name" if self.of_consumer else "name"))

    @property
    def about(self) -> str:
        """For people: `limited: max_msgs = 5`."""
        return f"{self.start}: {self.setting}"

    @property
    def setting(self) -> str:
        """The field with its new value, the middle of a long one left out."""
        shown = repr(self.value)
        return f"{self.field} = {shown if len(shown) <= MAX_SHOWN else f'{shown[:40]}... of {len(shown)}'}"


_READER: Json = {"durable_name": "reader", "name": "reader", "ack_policy": "explicit"}
_OTHER: Json = {"durable_name": "other", "name": "other", "ack_policy": "explicit"}

_STREAMS = (
    Start("new", {}, new=True),
    Start("plain", {}),
    Start("read", {}, ({**_READER, "max_ack_pending": 50}, {**_OTHER, "inactive_threshold": 60 * S})),
    Start(
        "limited",
        {
            "max_msgs": 100,
            "max_bytes": 1 << 20,
            "max_age": HOUR,
            "max_msgs_per_subject": 50,
            "max_msg_size": 1024,
            "duplicate_window": 60 * S,
            "max_consumers": 10,
            "discard": "new",
            "description": "limited",
        },
    ),
    Start("workqueue", {"retention": "workqueue"}, (_READER,)),
    Start("interest", {"retention": "interest"}, (_READER,)),
    Start("memory", {"storage": "memory", "max_age": HOUR}),
    Start("mirror", {"subjects": [], "mirror": {"name": "ORIGIN"}}, published=False),
    Start("sourcing", {"sources": [{"name": "ORIGIN", "filter_subject": "origin.a"}]}),
    Start(
        "bucket",
        {
            "max_msgs_per_subject": 64,
            "discard": "new",
            "allow_rollup_hdrs": True,
            "deny_delete": True,
            "allow_direct": True,
            "discard_new_per_subject": True,
        },
    ),
    Start("sealed", {"sealed": True}),
    Start("locked", {"deny_delete": True, "deny_purge": True, "no_ack": True}),
    Start("bounded", {"consumer_limits": {"max_ack_pending": 100, "inactive_threshold": HOUR}}, (_READER,)),
    Start(
        "moved",
        {
            "subject_transform": {"src": "{n}.>", "dest": "{n}.>"},
            "compression": "s2",
            "metadata": {"a": "b"},
            "republish": {"src": "{n}.>", "dest": "copy.{n}.>"},
            "first_seq": 100,
        },
    ),
    Start("ttl", {"allow_msg_ttl": True, "subject_delete_marker_ttl": 60 * S, "allow_rollup_hdrs": True}, (), (2, 11)),
    Start("counter", {"allow_msg_counter": True}, (), (2, 12), published=False),
    Start("schedules", {"allow_msg_schedules": True, "allow_rollup_hdrs": True}, (), (2, 12)),
    Start("async", {"persist_mode": "async"}, (), (2, 12)),
    Start("atomic", {"allow_atomic": True}, (), (2, 12)),
    Start(
        "new limited",
        {
            "max_age": HOUR,
            "max_msg_size": 512,
            "max_msgs_per_subject": 5,
            "discard": "new",
            "discard_new_per_subject": True,
            "allow_rollup_hdrs": True,
        },
        new=True,
        fields=(
            *("max_age", "duplicate_window", "max_msg_size", "max_msgs_per_subject", "discard", "sources"),
            *("discard_new_per_subject", "deny_purge", "allow_msg_schedules", "allow_msg_counter"),
        ),
    ),
    Start("small copy", {"subjects": [], "max_msg_size": 512}, new=True, fields=("mirror",)),
    Start(
        "new mirror",
        {"subjects": [], "mirror": {"name": "LARGE"}},
        new=True,
        fields=(
            *("first_seq", "subjects", "sources", "max_msg_size", "mirror_direct", "allow_msg_counter", "no_ack"),
            *("allow_atomic", "allow_batched", "allow_msg_schedules", "subject_delete_marker_ttl", "persist_mode"),
        ),
    ),
    Start(
        "new sourcing",
        {"sources": [{"name": "LARGE"}]},
        new=True,
        fields=("max_msg_size", "allow_msg_schedules", "mirror", "mirror_direct", "subjects", "first_seq"),
    ),
    Start("new unacknowledged", {"no_ack": True}, new=True, fields=("subjects", "num_replicas")),
    Start(
        "new moved",
        {"subject_transform": {"src": "{n}.>", "dest": "moved.{n}.>"}, "republish": {"src": ">", "dest": ">"}},
        new=True,
        fields=("subject_transform", "republish", "subjects"),
    ),
    Start(
        "new counter",
        {"allow_msg_counter": True},
        since=(2, 12),
        new=True,
        fields=(
            *("discard", "retention", "allow_msg_ttl", "allow_msg_schedules", "sources", "storage", "first_seq"),
            *("max_msgs_per_subject", "allow_atomic", "allow_batched", "persist_mode", "no_ack"),
        ),
    ),
    Start(
        "new schedules",
        {"allow_msg_schedules": True},
        since=(2, 12),
        new=True,
        fields=("discard", "sources", "allow_msg_counter", "allow_msg_ttl", "allow_rollup_hdrs", "retention"),
    ),
    Start(
        "new async",
        {"persist_mode": "async"},
        since=(2, 12),
        new=True,
        fields=("storage", "num_replicas", "allow_atomic", "allow_batched", "allow_msg_counter", "no_ack"),
    ),
)

_WORK_QUEUE: Json = {"retention": "workqueue"}
_BOUNDED: Json = {"consumer_limits": {"max_ack_pending": 100, "inactive_threshold": HOUR}}
_PUSH: Json = {"deliver_subject": "to.{n}"}

_CONSUMERS = (
    ConsumerStart("new pull", {}, new=True),
    ConsumerStart("new push", _PUSH, new=True),
    ConsumerStart("new on a work queue", {}, _WORK_QUEUE, new=True),
    ConsumerStart("pull", {}),
    ConsumerStart("push", _PUSH),
    ConsumerStart("flowing", _PUSH | {"flow_control": True, "idle_heartbeat": S, "deliver_group": "workers"}),
    ConsumerStart("filtered", {"filter_subject": "{n}.a", "max_deliver": 5, "backoff": [S, 2 * S]}),
    ConsumerStart("filters", {"filter_subjects": ["{n}.a", "{n}.b"]}),
    ConsumerStart("sequence", {"deliver_policy": "by_start_sequence", "opt_start_seq": 4}),
    ConsumerStart(
        "time",
        {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-01T00:00:00Z", "replay_policy": "original"},
    ),
    ConsumerStart("unacknowledged", {"ack_policy": "none"}),
    ConsumerStart("all", {"ack_policy": "all", "headers_only": True, "mem_storage": True}),
    ConsumerStart("workqueue", {}, _WORK_QUEUE),
    ConsumerStart(
        "workqueue of two", {"filter_subject": "{n}.a"}, _WORK_QUEUE, ({**_OTHER, "filter_subject": "{n}.b"},)
    ),
    ConsumerStart("interest", {"filter_subject": "{n}.a"}, {"retention": "interest"}),
    ConsumerStart("bounded", {"max_ack_pending": 50}, _BOUNDED),
    ConsumerStart("overflow", {"priority_policy": "overflow", "priority_groups": ["jobs"]}, since=(2, 11)),
    ConsumerStart(
        "pinned",
        {"priority_policy": "pinned_client", "priority_groups": ["jobs"], "priority_timeout": 60 * S},
        since=(2, 11),
    ),
    ConsumerStart("prioritized", {"priority_policy": "prioritized", "priority_groups": ["jobs"]}, since=(2, 12)),
    ConsumerStart(
        "new flowing",
        _PUSH | {"flow_control": True, "idle_heartbeat": S},
        new=True,
        fields=("idle_heartbeat", "flow_control", "ack_policy", "max_waiting", "deliver_subject"),
    ),
    ConsumerStart(
        "new acknowledged by flow control",
        _PUSH | {"ack_policy": "flow_control", "flow_control": True, "idle_heartbeat": S, "max_ack_pending": 10},
        since=(2, 14),
        new=True,
        fields=(
            *("max_ack_pending", "ack_wait", "backoff", "max_deliver", "deliver_subject", "idle_heartbeat"),
            *("flow_control", "ack_policy"),
        ),
    ),
    ConsumerStart(
        "new with backoff",
        {"max_deliver": 3, "backoff": [S, 2 * S, 3 * S]},
        new=True,
        fields=("max_deliver", "backoff", "ack_wait", "ack_policy"),
    ),
    ConsumerStart(
        "new filtered",
        {"filter_subject": "{n}.a"},
        new=True,
        fields=("filter_subject", "filter_subjects", "deliver_policy"),
    ),
    ConsumerStart(
        "new from a sequence",
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 4},
        new=True,
        fields=("deliver_policy", "opt_start_seq", "opt_start_time"),
    ),
    ConsumerStart(
        "new from a time",
        {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-01T00:00:00Z"},
        new=True,
        fields=("deliver_policy", "opt_start_seq", "opt_start_time"),
    ),
    ConsumerStart(
        "new pinned",
        {"priority_policy": "pinned_client", "priority_groups": ["jobs"]},
        since=(2, 11),
        new=True,
        fields=("priority_policy", "priority_groups", "priority_timeout", "deliver_subject", "ack_policy"),
    ),
    ConsumerStart(
        "new on a bounded stream",
        {"max_ack_pending": 50},
        _BOUNDED,
        new=True,
        fields=("max_ack_pending", "inactive_threshold", "ack_policy"),
    ),
    ConsumerStart(
        "new push on a work queue",
        _PUSH,
        _WORK_QUEUE,
        new=True,
        fields=("ack_policy", "deliver_policy", "deliver_subject", "max_ack_pending"),
    ),
    ConsumerStart(
        "new beside a filtered one on a work queue",
        {"filter_subject": "{n}.a"},
        _WORK_QUEUE,
        ({**_OTHER, "filter_subject": "{n}.b"},),
        new=True,
        fields=("filter_subject", "filter_subjects"),
    ),
    ConsumerStart(
        "new beside one of all on a work queue",
        {"filter_subject": "{n}.a"},
        _WORK_QUEUE,
        (_OTHER,),
        new=True,
        fields=("filter_subject", "filter_subjects", "ack_policy"),
    ),
    ConsumerStart(
        "new on an interest stream",
        {},
        {"retention": "interest"},
        new=True,
        fields=("num_replicas", "ack_policy", "deliver_policy"),
    ),
)

_PLAIN = ("new", "new pull", "new push")
"""Starts that are also tried with the values for new streams and consumers, as are those of few fields."""

SINCE = {
    row.name: row.setting.since
    for config in (StreamConfig, ConsumerConfig)
    for row in rows(config)
    if row.setting.since > OLDEST
}
"""First release that knows a field."""

_USUAL: Json = {
    **dict.fromkeys(SINCE, True),
    "subject_delete_marker_ttl": S,
    "priority_timeout": S,
    "priority_groups": ["jobs"],
    "persist_mode": "async",
    "priority_policy": "overflow",
    "pause_until": "2031-01-01T00:00:00Z",
}


def stream_changes(release: tuple[int, int], one_name: bool = False) -> Iterator[FieldChange]:
    """Every field of a stream to every value, from every start that this release can have.

    Each is of a stream of its own, with `one_name` all of a start are of the same.
    """
    number = 0
    for start in _STREAMS:
        if start.since > release:
            continue
        for name, value in _values(start, STREAM, NEW_STREAM):
            if SINCE.get(name, release) > release and not _is_sent(name, value):
                continue
            if start.stream.get("no_ack") and "$" in str(value):
                continue  # without acknowledgements it gets the server's own subjects, and no other then does
            number += 1
            asset = _one_name("F", start.name) if one_name else f"F{number}"
            before = None if start.new else _stream(asset, start.stream)
            after = _stream(asset, start.stream) | ({"storage": "file"} if start.new else _stored(start.stream))
            _put(after, name, _filled(value, asset))
            yield FieldChange(
                asset, start.name, name, value, before, after, None, _all(start.consumers, asset), start.published
            )


def consumer_changes(release: tuple[int, int], one_name: bool = False) -> Iterator[FieldChange]:
    """Every field of a consumer to every value, from every start that this release can have."""
    number = 0
    for start in _CONSUMERS:
        if start.since > release:
            continue
        for name, value in _values(start, CONSUMER, NEW_CONSUMER):
            if SINCE.get(name, release) > release and not _is_sent(name, value):
                continue
            number += 1
            asset = _one_name("G", start.name) if one_name else f"G{number}"
            before: Json = _filled({**_READER, **start.consumer}, asset)
            after = dict(before)
            _put(after, name, _filled(value, asset))
            yield FieldChange(
                asset,
                start.name,
                name,
                value,
                None if start.new else before,
                after,
                _stream(asset, start.stream or {}),
                _all(start.others, asset),
            )


def _values(
    start: Start | ConsumerStart, usual: Mapping[str, tuple[Any, ...]], of_new: Mapping[str, tuple[Any, ...]]
) -> Iterator[tuple[str, Any]]:
    """The fields of a start with their values."""
    for name in dict.fromkeys((*usual, *of_new)):
        if start.fields and name not in start.fields:
            continue
        more = of_new.get(name, ()) if start.name in _PLAIN or (start.new and start.fields) else ()
        yield from ((name, value) for value in (*usual.get(name, ()), *more))


def _one_name(letter: str, start: str) -> str:
    return f"{letter}_{start.replace(' ', '_').upper()}"


def _is_sent(name: str, value: Any) -> bool:
    """Whether a tool sends this value of a field that the server does not know: it leaves out what is nothing, and
    refuses what it does not know itself.
    """
    usual = _USUAL[name]
    return bool(value == usual) and type(value) is type(usual)


def _stream(name: str, config: Json) -> Json:
    filled: Json = _filled({"name": name, "subjects": ["{n}.>"], **config}, name)
    return filled


def _stored(config: Json) -> Json:
    """What a sealed stream also has, so that the change is of one field."""
    return {"deny_delete": True, "deny_purge": True, "discard": "new"} if config.get("sealed") else {}


def _put(config: Json, name: str, value: Any) -> None:
    """None: the field is left out, as a manifest that says nothing of it."""
    if value is None:
        config.pop(name, None)
    else:
        config[name] = value


def _all(consumers: tuple[Json, ...], name: str) -> tuple[Json, ...]:
    return tuple(_filled(consumer, name) for consumer in consumers)


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, name) for item in value]
    return value.replace("{n}", name) if isinstance(value, str) else value
