"""Changes of streams and consumers, each with what becomes of it on a real server: refused, accepted, or deleting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]

SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS
HELD = 20
"""Messages in a stream before its change, on two subjects, 64 bytes each."""


class UpdateResult(StrEnum):
    """What a server does with a change."""

    REFUSED = "refused"
    ACCEPTED = "accepted"
    DELETES = "deletes"


@dataclass(frozen=True)
class Change:
    """A stream as it is (None: not there), as it shall be, and what a server makes of that.

    `name` is set by `changes`; `consumers` are those that are there, without acknowledgements.
    """

    about: str
    result: UpdateResult
    before: Json | None
    after: Json
    consumers: tuple[Json, ...] = ()
    name: str = ""
    since: tuple[int, int] = (2, 10)
    """Servers before this release accept the change and delete nothing."""
    nudge: bool = False
    """Before 2.14 the deletion comes with the next publish to each subject."""

    def result_on(self, version: str) -> UpdateResult:
        """What a server of that version does."""
        major, minor, *_ = (int(part) for part in version.split("."))
        return self.result if (major, minor) >= self.since else UpdateResult.ACCEPTED


@dataclass(frozen=True)
class ConsumerChange:
    """A consumer as it is (None: not there) and as it shall be, on a stream of its own."""

    about: str
    result: UpdateResult
    before: Json | None
    after: Json
    stream: Json = field(default_factory=dict)
    others: Mapping[str, Json] = field(default_factory=dict)
    name: str = ""


R, A, D = UpdateResult.REFUSED, UpdateResult.ACCEPTED, UpdateResult.DELETES

_STREAMS = (
    Change("a stream with every limit", A, None, {"max_age": HOUR_NS, "max_bytes": 1 << 20, "max_msgs": 100}),
    Change("no limit", A, None, {}),
    Change("six replicas", R, None, {"num_replicas": 6}),
    Change("a window above max_age", R, None, {"max_age": 60 * SECOND_NS, "duplicate_window": 61 * SECOND_NS}),
    Change("a window as long as max_age", A, None, {"max_age": 60 * SECOND_NS, "duplicate_window": 60 * SECOND_NS}),
    Change("no window, and a max_age below the default one", A, None, {"max_age": 60 * SECOND_NS}),
    Change("max_age of 99ms", R, None, {"max_age": 99_000_000}),
    Change("max_age of 100ms", A, None, {"max_age": 100_000_000}),
    Change("a negative max_age", R, None, {"max_age": -1}),
    Change("a window of 99ms", R, None, {"duplicate_window": 99_000_000}),
    Change("a negative window", R, None, {"duplicate_window": -1}),
    Change("subjects that overlap each other", R, None, {"subjects": ["{n}.a.>", "{n}.*.b"]}),
    Change("the same subject twice", R, None, {"subjects": ["{n}.a", "{n}.a"]}),
    Change("subjects that only look alike", A, None, {"subjects": ["{n}.a", "{n}.a.*", "{n}.a.b.>"]}),
    Change("a subject with an empty token", R, None, {"subjects": ["{n}..a"]}),
    Change("a subject with a wildcard in the middle", R, None, {"subjects": ["{n}.>.a"]}),
    Change("a subject with a space", R, None, {"subjects": ["{n}.a b"]}),
    Change("the server's own subjects", R, None, {"subjects": ["$JS.API.>"]}),
    Change("the server's advisories", A, None, {"subjects": ["$JS.EVENT.ADVISORY.{n}.>"]}),
    Change("all subjects, acknowledged", R, None, {"subjects": [">"]}),
    Change("a subject of another stream", R, None, {"subjects": ["taken.*"]}),
    Change("a rollup that may not purge", R, None, {"deny_purge": True, "allow_rollup_hdrs": True}),
    Change("refusing per subject with discard old", R, None, {"discard_new_per_subject": True}),
    Change("refusing per subject without a limit", R, None, {"discard": "new", "discard_new_per_subject": True}),
    Change(
        "refusing per subject with a limit",
        A,
        None,
        {"discard": "new", "discard_new_per_subject": True, "max_msgs_per_subject": 5},
    ),
    Change("a mirror with subjects", R, None, {"mirror": {"name": "TAKEN"}}),
    Change("a mirror", A, None, {"subjects": [], "mirror": {"name": "TAKEN"}}),
    Change("a mirror with sources", R, None, {"subjects": [], "mirror": {"name": "TAKEN"}, "sources": [{"name": "X"}]}),
    Change("the same source twice", R, None, {"sources": [{"name": "TAKEN"}, {"name": "TAKEN"}]}),
    Change("from file to memory", R, {"storage": "file"}, {"storage": "memory"}),
    Change("from limits to work queue", R, {}, {"retention": "workqueue"}),
    Change("from work queue to limits", R, {"retention": "workqueue"}, {}),
    Change("from work queue to interest", R, {"retention": "workqueue"}, {"retention": "interest"}),
    Change("from interest to limits", A, {"retention": "interest"}, {"retention": "limits"}),
    Change("from limits to interest, nobody interested", D, {}, {"retention": "interest"}, since=(2, 14)),
    Change("deletes allowed again", R, {"deny_delete": True}, {}),
    Change("purges allowed again", R, {"deny_purge": True}, {}),
    Change("deletes denied", A, {}, {"deny_delete": True}),
    Change("a limit of messages below what is there", D, {}, {"max_msgs": 5}),
    Change("a lower limit of messages, above what is there", A, {"max_msgs": 1000}, {"max_msgs": HELD}),
    Change("a higher limit of messages", A, {"max_msgs": HELD}, {"max_msgs": 1000}),
    Change("a limit of bytes below what is there", D, {}, {"max_bytes": 600}),
    Change("a limit of bytes above what is there", A, {}, {"max_bytes": 1 << 20}),
    Change(
        "a limit of messages below what is there, discard new", A, {"discard": "new"}, {"discard": "new", "max_msgs": 5}
    ),
    Change("a max_age below the age of all messages", D, {}, {"max_age": SECOND_NS}),
    Change("a max_age above the age of all messages", A, {}, {"max_age": HOUR_NS}),
    Change("fewer messages per subject than there are", D, {}, {"max_msgs_per_subject": 2}, nudge=True),
    Change("as many messages per subject as there are", A, {}, {"max_msgs_per_subject": HELD}),
    Change("another subject", A, {}, {"subjects": ["{n}.>", "{n}2.>"]}),
    Change("a subject less", A, {"subjects": ["{n}.>", "{n}3.>"]}, {}),
    Change("a subject that another stream has", R, {}, {"subjects": ["{n}.>", "taken.x"]}),
    Change("a smaller largest message", A, {}, {"max_msg_size": 10}),
    Change("no acknowledgements", A, {}, {"no_ack": True}),
    Change("discard new", A, {}, {"discard": "new"}),
    Change("a shorter window", A, {}, {"duplicate_window": SECOND_NS}),
    Change("sealed", A, {}, {"sealed": True}),
    Change("unsealed", R, {"sealed": True}, {}),
    Change(
        "from limits to interest, everything still to be delivered",
        A,
        {},
        {"retention": "interest"},
        consumers=({"durable_name": "all", "ack_policy": "explicit"},),
    ),
    Change(
        "from limits to interest, some of it to be delivered and the rest of interest to nobody",
        A,
        {},
        {"retention": "interest"},
        consumers=({"durable_name": "some", "ack_policy": "explicit", "filter_subject": "{n}.a"},),
    ),
    Change(
        "from limits to interest, a consumer of new messages",
        D,
        {},
        {"retention": "interest"},
        since=(2, 14),
        consumers=({"durable_name": "late", "ack_policy": "explicit", "deliver_policy": "new"},),
    ),
)

_WQ: Json = {"retention": "workqueue"}
_INTEREST: Json = {"retention": "interest"}
_PUSH: Json = {"deliver_subject": "to.{n}"}

_CONSUMERS = (
    ConsumerChange("an ordinary one", A, None, {}),
    ConsumerChange("without acknowledgements", A, None, {"ack_policy": "none"}),
    ConsumerChange("more steps than deliveries", R, None, {"backoff": [SECOND_NS, 2 * SECOND_NS], "max_deliver": 1}),
    ConsumerChange("as many steps as deliveries", A, None, {"backoff": [SECOND_NS, 2 * SECOND_NS], "max_deliver": 2}),
    ConsumerChange("steps without a limit of deliveries", A, None, {"backoff": [SECOND_NS]}),
    ConsumerChange("filters that overlap", R, None, {"filter_subjects": ["{n}.a.>", "{n}.a.b"]}),
    ConsumerChange("two filters", A, None, {"filter_subjects": ["{n}.a", "{n}.b"]}),
    ConsumerChange("filters of both kinds", R, None, {"filter_subject": "{n}.a", "filter_subjects": ["{n}.b"]}),
    ConsumerChange("a filter outside of its stream", A, None, {"filter_subject": "elsewhere.{n}"}),
    ConsumerChange("a start without a sequence", R, None, {"deliver_policy": "by_start_sequence"}),
    ConsumerChange("all, and a sequence", R, None, {"opt_start_seq": 5}),
    ConsumerChange("new, and a sequence", R, None, {"deliver_policy": "new", "opt_start_seq": 5}),
    ConsumerChange("a start past the end", A, None, {"deliver_policy": "by_start_sequence", "opt_start_seq": 500}),
    ConsumerChange("a start without a time", R, None, {"deliver_policy": "by_start_time"}),
    ConsumerChange("the last of each subject, without a filter", R, None, {"deliver_policy": "last_per_subject"}),
    ConsumerChange(
        "the last of each subject", A, None, {"deliver_policy": "last_per_subject", "filter_subject": "{n}.>"}
    ),
    ConsumerChange("push", A, None, _PUSH),
    ConsumerChange("push to a wildcard", R, None, {"deliver_subject": "to.*"}),
    ConsumerChange("push into its own stream", R, None, {"deliver_subject": "{n}.x"}),
    ConsumerChange("push with max_waiting", R, None, _PUSH | {"max_waiting": 5}),
    ConsumerChange("flow control without a heartbeat", R, None, _PUSH | {"flow_control": True}),
    ConsumerChange("flow control", A, None, _PUSH | {"flow_control": True, "idle_heartbeat": SECOND_NS}),
    ConsumerChange("a heartbeat for pull", R, None, {"idle_heartbeat": SECOND_NS}),
    ConsumerChange("a rate limit for pull", R, None, {"rate_limit_bps": 1000}),
    ConsumerChange("more replicas than its stream", R, None, {"num_replicas": 3}),
    ConsumerChange("a work queue without acknowledgements", R, None, {"ack_policy": "none"}, _WQ),
    ConsumerChange("a work queue with ack all", R, None, {"ack_policy": "all"}, _WQ),
    ConsumerChange("a work queue from now on", R, None, {"deliver_policy": "new"}, _WQ),
    ConsumerChange("a work queue", A, None, {}, _WQ),
    ConsumerChange("a second reader of a work queue", R, None, {}, _WQ, {"first": {}}),
    ConsumerChange("a second reader with a filter", R, None, {"filter_subject": "{n}.a"}, _WQ, {"first": {}}),
    ConsumerChange(
        "an overlapping reader of a work queue",
        R,
        None,
        {"filter_subject": "{n}.*"},
        _WQ,
        {"first": {"filter_subject": "{n}.a"}},
    ),
    ConsumerChange(
        "a reader of other subjects of a work queue",
        A,
        None,
        {"filter_subject": "{n}.b"},
        _WQ,
        {"first": {"filter_subject": "{n}.a"}},
    ),
    ConsumerChange("an interest stream", A, None, {"ack_policy": "all"}, _INTEREST),
    ConsumerChange(
        "more pending than its stream allows",
        R,
        None,
        {"max_ack_pending": 500},
        {"consumer_limits": {"max_ack_pending": 100}},
    ),
    ConsumerChange("another deliver policy", R, {}, {"deliver_policy": "new"}),
    ConsumerChange("another ack policy", R, {}, {"ack_policy": "all"}),
    ConsumerChange("another replay policy", R, {}, {"replay_policy": "original"}),
    ConsumerChange(
        "another start",
        R,
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 3},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 4},
    ),
    ConsumerChange("another max_waiting", R, {}, {"max_waiting": 100}),
    ConsumerChange("from pull to push", R, {}, _PUSH),
    ConsumerChange("from push to pull", R, _PUSH, {}),
    ConsumerChange("another deliver subject, nobody there", A, _PUSH, {"deliver_subject": "to.other.{n}"}),
    ConsumerChange("another ack_wait", A, {}, {"ack_wait": 5 * SECOND_NS}),
    ConsumerChange("another max_deliver", A, {}, {"max_deliver": 5}),
    ConsumerChange("another filter", A, {"filter_subject": "{n}.a"}, {"filter_subject": "{n}.b"}),
    ConsumerChange("another max_ack_pending", A, {}, {"max_ack_pending": 5}),
    ConsumerChange("another inactive_threshold", A, {}, {"inactive_threshold": HOUR_NS}),
    ConsumerChange("a heartbeat later on", R, _PUSH, _PUSH | {"idle_heartbeat": SECOND_NS}),
)


def stream_changes() -> Iterator[Change]:
    """Every change of a stream under a name of its own, with subjects of its own."""
    for number, change in enumerate(_STREAMS, 1):
        name = f"C{number:02}"
        yield Change(
            change.about,
            change.result,
            None if change.before is None else _stream(name, change.before),
            _stream(name, change.after),
            change.consumers,
            name,
            change.since,
            change.nudge,
        )


def consumer_changes() -> Iterator[ConsumerChange]:
    """Every change of a consumer, on a stream of its own."""
    for number, change in enumerate(_CONSUMERS, 1):
        name = f"K{number:02}"
        yield ConsumerChange(
            change.about,
            change.result,
            None if change.before is None else _consumer(name, "reader", change.before),
            _consumer(name, "reader", change.after),
            _stream(name, change.stream),
            {other: _consumer(name, other, config) for other, config in change.others.items()},
            name,
        )


def _stream(name: str, config: Json) -> Json:
    full = {"name": name, "subjects": [f"{name}.>"], "storage": "file", **config}
    return {key: _filled(value, name) for key, value in full.items()}


def _consumer(stream: str, name: str, config: Json) -> Json:
    full = {"name": name, "durable_name": name, "ack_policy": "explicit", **config}
    return {key: _filled(value, stream) for key, value in full.items()}


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_filled(item, name) for item in value]
    return value.replace("{n}", name) if isinstance(value, str) else value
