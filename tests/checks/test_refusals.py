"""What servers refuse of configurations, and which releases do; `fixtures/fields` has what each of them replied."""

import tomllib
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
import pytest

from jsdoctor.checks.declared import consumer_refusals, stream_refusals
from jsdoctor.checks.declared.refusal import ServerRefusal, certain, of_descriptions, of_negative_numbers
from jsdoctor.checks.declared.stream_refusals import TransformUse, faults
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.server_defaults import consumer_as_stored
from tests.support.evidence import FIXTURES

SECOND_NS = 1_000_000_000


@cache
def declared(name: str) -> dict[str, Any]:
    return tomllib.loads((FIXTURES / "refusals" / f"{name}.toml").read_text())


def of(name: str) -> pytest.MarkDecorator:
    """The cases of a file of fixtures/refusals."""
    return pytest.mark.parametrize("case", declared(name)["case"], ids=lambda case: str(case)[:100])


def stream(**settings: Any) -> StreamConfig:
    return msgspec.convert({"name": "S", "subjects": ["s.>"], **settings}, StreamConfig)


def nothing_known(_: str) -> StreamConfig | None:
    """No stream of the account is known."""
    return None


def consumer(**settings: Any) -> ConsumerConfig:
    return msgspec.convert({"durable_name": "c", **settings}, ConsumerConfig)


def stated(refusals: Iterable[ServerRefusal]) -> list[str]:
    return [f"{refusal.field}: {refusal.text}; {refusal.releases}" for refusal in refusals]


@of("streams")
def test_new_streams(case: dict[str, Any]) -> None:
    known = {entry["settings"]["name"]: stream(**entry["settings"]) for entry in declared("streams")["known"]}
    assert stated(stream_refusals.of_stream(stream(**case["settings"]), known.get, creating=True)) == case["refused"]


@of("changes")
def test_changes_of_a_stream(case: dict[str, Any]) -> None:
    consumers = {
        "b": consumer(durable_name="b", max_ack_pending=100),
        "a": consumer(durable_name="a", max_ack_pending=100, inactive_threshold=SECOND_NS),
    }
    before, after = (stream(subjects=["s"], **case[key]) for key in ("before", "after"))
    assert stated(stream_refusals.of_change(after, before, consumers)) == case["refused"]


@of("consumers")
def test_new_consumers(case: dict[str, Any]) -> None:
    limits = {"max_ack_pending": 10, "inactive_threshold": SECOND_NS}
    held_by = stream(**{"subjects": ["s.>", "t"], "consumer_limits": limits, **case.get("stream", {})})
    asked = consumer(**case["settings"])
    stored = consumer_as_stored(asked, held_by.consumer_limits)
    assert stated(consumer_refusals.of_consumer(stored, asked, held_by)) == case["refused"]


@of("transforms")
def test_transforms(case: dict[str, Any]) -> None:
    for use in TransformUse:
        outcome = [
            f"{fault.says}; since {'.'.join(map(str, fault.since))}"
            + (f" before {'.'.join(map(str, fault.before))}" if fault.before else "")
            for fault in faults(case["source"], case["destination"], use)
        ]
        assert outcome == case.get("refused_of", {}).get(use.value, case["refused"])


def test_what_only_new_streams_are_refused_for() -> None:
    for settings in ({"sealed": True}, {"mirror_direct": True}):
        assert not stated(stream_refusals.of_stream(stream(**settings), nothing_known, creating=False))
    filtered = stream(sources=[{"name": "X", "filter_subject": "a..b"}])
    assert not stated(stream_refusals.of_stream(filtered, nothing_known, creating=False))


@pytest.mark.parametrize(("length", "refused"), [(255, False), (256, True)])
def test_names_have_255_characters(length: int, refused: bool) -> None:
    of_stream = stream_refusals.of_stream(stream(name="x" * length), nothing_known, creating=True)
    assert stated(of_stream) == (
        ["name: a stream's name has 255 characters at most (error 10052); servers"] if refused else []
    )
    text = "durable_name: a consumer's name has 255 characters at most"
    for settings, code in (({}, " (error 10102)"), ({"durable_name": ""}, "")):
        asked = consumer(**{"durable_name": "x" * length, "name": "x" * length} | settings)
        assert stated(consumer_refusals.of_consumer(asked, asked, None)) == (
            [f"{text}{code}; servers"] if refused else []
        )


def test_descriptions_are_measured_in_bytes() -> None:
    text = "description: the description is longer than 4,096 bytes (error 7); servers"
    assert stated(of_descriptions("x" * 4_096, {}, 7, 8)) == []
    assert stated(of_descriptions("x" * 4_097, {}, 7, 8)) == [text]
    assert stated(of_descriptions("ä" * 2_049, {}, 7, 8)) == [text]


def test_metadata_has_room_for_the_label_of_servers() -> None:
    most, larger = 128 * 1_024, "the metadata is larger than 131,072 bytes"
    assert stated(of_descriptions("", {"k": "x" * (most - 1 - 16)}, 7, 8)) == []
    assert stated(of_descriptions("", {"k": "x" * (most - 16)}, 7, 8)) == [
        f"metadata: {larger} together with the label that servers add (error 8); servers from 2.11 on"
    ]
    assert stated(of_descriptions("", {"k": "x" * most}, 7, 8)) == [f"metadata: {larger} (error 8); servers"]
    for label in ("_nats.req.level", "_nats.level", "_nats.ver"):
        assert stated(of_descriptions("", {label: "x" * most}, 7, 8)) == []


def test_negative_numbers_that_servers_read_as_none() -> None:
    limits = ("max_msgs", "max_bytes", "max_msg_size", "max_msgs_per_subject", "max_consumers")
    for name in limits:
        assert stated(of_negative_numbers(stream(**{name: -1}))) == []
        assert stated(of_negative_numbers(stream(**{name: -2}))) == [
            f"{name}: {name}: -2 sets no limit; write -1 if that is intended; servers"
        ]
    text = "is negative: servers take it, and set no limit; leave it out if that is intended; servers"
    for limit in ({"max_ack_pending": -2}, {"inactive_threshold": -1}):
        [name] = limit
        assert stated(of_negative_numbers(stream(consumer_limits=limit))) == [
            f"consumer_limits: consumer_limits.{name} {text}"
        ]
    assert stated(of_negative_numbers(stream(consumer_limits={"max_ack_pending": -1}))) == []
    both = stream(consumer_limits={"max_ack_pending": -1, "inactive_threshold": -1})
    assert stated(of_negative_numbers(both)) == [f"consumer_limits: consumer_limits.inactive_threshold {text}"]
    assert stated(stream_refusals.dropped_fields(both, ())) == stated(of_negative_numbers(both))


def test_negative_numbers_of_consumers_are_not_set() -> None:
    for name in ("idle_heartbeat", "inactive_threshold", "max_waiting", "max_batch", "max_expires", "max_bytes"):
        assert stated(of_negative_numbers(consumer(**{name: 0}))) == []
        assert stated(of_negative_numbers(consumer(**{name: -1}))) == [
            f"{name}: {name} is negative: servers from 2.11 on read it as not set; servers"
        ]
    for name in ("max_ack_pending", "max_deliver"):
        assert stated(of_negative_numbers(consumer(**{name: -1}))) == []
        assert stated(of_negative_numbers(consumer(**{name: -2}))) == [
            f"{name}: {name}: -2 sets no limit; write -1 if that is intended; servers"
        ]


def test_fields_that_older_servers_drop() -> None:
    text = "servers before 2.11 drop it without an error; servers"
    pinned = consumer(priority_policy="overflow", priority_groups=["g"], priority_timeout=SECOND_NS)
    assert stated(consumer_refusals.dropped_fields(pinned, (2, 10))) == [
        f"{name}: {name}: {text}" for name in ("priority_policy", "priority_groups", "priority_timeout")
    ]
    assert stated(consumer_refusals.dropped_fields(pinned, (2, 11))) == []
    assert stated(consumer_refusals.dropped_fields(pinned, ())) == []
    assert stated(consumer_refusals.dropped_fields(consumer(priority_policy="none"), (2, 10))) == []
    named = consumer(name="other")
    assert stated(consumer_refusals.dropped_fields(named, ())) == [
        "name: name 'other' is not the durable_name: servers drop it and call the consumer 'c'; servers"
    ]


@pytest.mark.parametrize(
    ("field", "value", "since"),
    [
        ("allow_msg_ttl", True, (2, 11)),
        ("subject_delete_marker_ttl", SECOND_NS, (2, 11)),
        ("allow_msg_counter", True, (2, 12)),
        ("allow_atomic", True, (2, 12)),
        ("allow_msg_schedules", True, (2, 12)),
        ("persist_mode", "async", (2, 12)),
        ("allow_batched", True, (2, 14)),
    ],
)
def test_servers_before_2_12_drop_fields_that_they_do_not_know(field: str, value: Any, since: tuple[int, int]) -> None:
    text = f"{field}: {field}: servers before {since[0]}.{since[1]} drop it without an error; servers"
    for release in ((2, 10), (2, 11), (2, 12), (2, 14)):
        dropped = release < since and release < (2, 12)
        outcome = stated(stream_refusals.dropped_fields(stream(**{field: value}), release))
        assert outcome == ([text] if dropped else [])
    assert stated(stream_refusals.dropped_fields(stream(**{field: value}), ())) == []
    assert stated(stream_refusals.dropped_fields(stream(persist_mode="default"), (2, 10))) == []


def beside(settings: dict[str, Any], *others: dict[str, Any], creating: bool = True) -> list[str]:
    named = [(f"o{number}", consumer(**other)) for number, other in enumerate(others)]
    return stated(consumer_refusals.of_work_queue(consumer(**settings), named, creating))


def test_a_work_queue_has_one_reader_for_each_subject() -> None:
    left, right = {"filter_subject": "s.a"}, {"filter_subject": "s.b"}
    overlap = (
        "filter_subject: its filter 's.b' overlaps with 's.b' of consumer o1, on a work-queue stream (error 10100)"
    )
    assert beside(left, right) == []
    assert beside(right, left, right, right) == [f"{overlap}; servers"]
    assert beside(left, {}) == [
        "filter_subject: consumer o0 takes all messages of the same work queue (error 10100); servers"
    ]
    assert beside({}, left, right) == [
        "filter_subject: consumer o0 takes messages of the same work queue (error 10099); servers"
    ]
    assert beside({}, left, right, creating=False) == []


def test_a_work_queue_takes_new_consumers_of_one_kind() -> None:
    policy = "ack_policy: a work queue needs ack policy explicit (error {}); servers"
    for settings, refused in (
        ({}, []),
        ({"ack_policy": "flow_control"}, []),
        ({"ack_policy": "none"}, [policy.format(10084)]),
        ({"ack_policy": "none", "deliver_subject": "to.x"}, [policy.format(10098)]),
        ({"ack_policy": "all"}, [policy.format(10098)]),
        (
            {"deliver_policy": "new"},
            ["deliver_policy: a work queue takes deliver policy all only (error 10101); servers"],
        ),
    ):
        assert stated(consumer_refusals.of_new_on_work_queue(consumer(**settings))) == refused


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, []),
        (
            {"mem_storage": True},
            ["mem_storage: mem_storage cannot be changed from False to True (error 10012); servers from 2.14 on"],
        ),
        ({"max_waiting": 3}, ["max_waiting: max_waiting cannot be changed from 0 to 3 (error 10012); servers"]),
        ({"idle_heartbeat": 1}, ["idle_heartbeat: idle_heartbeat cannot be changed (error 10012); servers"]),
        (
            {"deliver_subject": "to.x", "max_waiting": 3},
            ["deliver_subject: a pull consumer cannot become a push consumer (error 10012); servers"],
        ),
    ],
)
def test_changes_of_a_consumer(change: dict[str, Any], refused: list[str]) -> None:
    assert stated(consumer_refusals.of_change(consumer(**change), consumer())) == refused


def test_a_refusal_holds_from_its_first_release_to_the_one_before_its_last() -> None:
    always, later = ServerRefusal("f", "a"), ServerRefusal("f", "b", since=(2, 11), before=(2, 14))
    for release, texts in (((2, 10), "a"), ((2, 11), "ab"), ((2, 12), "ab"), ((2, 14), "a"), ((), "a")):
        assert "".join(refusal.says for refusal in certain((always, later), release)) == texts
    assert ServerRefusal("f", "c", since=(2, 9)).releases == "servers"
