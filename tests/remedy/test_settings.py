"""Raw configurations: what counts as a difference, what is sent, and what a lower limit would delete."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.model.plan import Change
from jsdoctor.remedy.settings import changed, differences, is_set, restored, would_delete

HOUR_NS = 3_600_000_000_000


def test_what_servers_add_and_leave_out_is_no_difference() -> None:
    old = {"name": "S", "no_ack": False, "metadata": {"_nats.ver": "2.12.8", "_nats.level": "3", "a": "b"}}
    new = {"name": "S", "max_age": 0, "metadata": {"_nats.ver": "2.15.1", "_nats.req.level": "0", "a": "b"}}
    assert differences(old, new) == ()
    assert differences(old, {**new, "metadata": {"a": "c"}}) == (Change("metadata", {"a": "b"}, {"a": "c"}),)


def test_keys_that_nobody_knows_survive() -> None:
    config = {"name": "S", "invented_in_3_0": {"x": [1, 2.5, None]}, "max_bytes": 5}
    change = Change("max_bytes", 5, 10)
    assert changed(config, [change]) == config | {"max_bytes": 10}
    assert restored(changed(config, [change]), [change], config) == config


def test_a_key_that_was_not_there_is_gone_again() -> None:
    change = Change("inactive_threshold", None, 5)
    assert restored({"name": "C", "inactive_threshold": 5}, [change], {"name": "C"}) == {"name": "C"}


def test_off_is_off_whether_it_is_said_or_not() -> None:
    assert is_set({"name": "S"}, [Change("no_ack", True, False)])
    assert not is_set({"name": "S", "no_ack": True}, [Change("no_ack", True, False)])


def info(**config: Any) -> dict[str, Any]:
    state = {"messages": 10, "bytes": 1000, "first_ts": "2026-01-01T00:00:00Z"}
    return {"config": config, "state": state, "ts": "2026-01-01T02:00:00.5Z"}


@pytest.mark.parametrize(
    ("now", "target", "word"),
    [
        ({}, {"max_msgs": 9}, "10 messages"),
        ({}, {"max_msgs": 10}, ""),
        ({"max_msgs": 9}, {"max_msgs": 9}, ""),
        ({}, {"max_bytes": 999}, "1,000 bytes"),
        ({}, {"max_bytes": -1}, ""),
        ({}, {"max_age": HOUR_NS}, "older than max_age"),
        ({}, {"max_age": 3 * HOUR_NS}, ""),
        ({"max_age": 3 * HOUR_NS}, {"max_age": 0}, ""),
        ({}, {"max_msgs_per_subject": 1}, "lose their oldest"),
        ({"max_msgs_per_subject": 1}, {"max_msgs_per_subject": 5}, ""),
    ],
)
def test_what_a_limit_would_delete(now: dict[str, Any], target: dict[str, Any], word: str) -> None:
    said = would_delete(target, info(**now))
    assert (word in said) if word else not said


def test_where_the_age_is_not_known_nothing_may_be_deleted() -> None:
    assert would_delete({"max_age": HOUR_NS}, {"config": {}, "state": {"messages": 1}})
