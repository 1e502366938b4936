"""Raw configurations: what counts as a difference, and what is sent."""

from __future__ import annotations

from jsdoctor.model.plan import Change
from jsdoctor.remedy.replies import changed, differences, is_set, restored


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


def test_off_is_off_whether_it_is_written_or_not() -> None:
    assert is_set({"name": "S"}, [Change("no_ack", True, False)])
    assert not is_set({"name": "S", "no_ack": True}, [Change("no_ack", True, False)])
