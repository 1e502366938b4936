"""Where things are, on recordings of healthy servers and on small edits of them."""

from typing import Any

import pytest

from jsdoctor.engine.where import where
from jsdoctor.model.whereabouts import Whereabouts
from tests.support.evidence import evidence_of

BASE = "three-nodes-2.15.1"


def asked(word: str, *edits: Any, base: str = BASE) -> Whereabouts:
    (found,) = where(evidence_of({"base": base, "edit": list(edits)}), word)
    return found


def test_a_stream_names_its_servers_and_what_is_late() -> None:
    late = {
        "stream": "APP/ORDERS",
        "set": {"cluster.replicas": [{"name": "n3", "current": False, "active": 1_000, "lag": 40}]},
    }
    found = asked("ORDERS", late).found[0]
    assert (found.leader, found.members) == ("n2", ("n2", "n3"))
    assert found.facts[0] == "on n2 (leader), n3 (40 behind); file, 3 replicas"


def test_a_field_that_a_reply_lacks_decides_nothing() -> None:
    lacks = {"stream": "APP/ORDERS", "set": {"cluster.replicas": [{"name": "n3", "lag": 40}]}}
    answer = asked("ORDERS", lacks)
    assert (answer.sentence, answer.unseen[0].kind) == ("ORDERS: undecided", "field")


def test_a_stream_without_a_leader() -> None:
    gone = {"stream": "APP/ORDERS", "remove": ["cluster.leader"]}
    assert "no leader" in asked("ORDERS", gone).sentence


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"config.max_age": 3_600_000_000_000, "state.first_seq": 50}, "purged or deleted"),
        ({"config.max_msgs_per_subject": 1, "state.first_seq": 50}, "replaced by newer ones of its subject"),
        ({"config.retention": "interest", "state.first_seq": 50}, "acknowledged by all consumers, or wanted by none"),
        ({"config.allow_msg_ttl": True, "state.first_seq": 50}, "expired by a TTL of its own"),
    ],
)
def test_what_removed_a_message(limit: dict[str, Any], words: str) -> None:
    answer = asked("ORDERS#3", {"stream": "APP/ORDERS", "set": limit}).sentence
    assert answer.startswith("ORDERS#3: gone: the stream begins at 50; ")
    assert words in answer


def test_what_may_hide_it_is_said() -> None:
    assert [gap.kind for gap in asked("nothing.here").unseen] == ["mappings"]
    assert asked("ORDERS/none").unseen == ()
    hidden = asked("nothing.here", {"server": "n2", "endpoint": "JSZ", "drop": True})
    assert not hidden.found
    assert hidden.unseen
    assert asked("nothing.here", base="three-nodes-2.15.1-account").unseen, "a plain login sees its own account alone"


def mapped(server: str, mappings: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    detail = {"account_name": "APP", "mappings": mappings}
    return {"server": server, "endpoint": "ACCOUNTZ", "reply": {"account_detail": detail}}


def test_servers_that_map_differently_are_named() -> None:
    """As after a reload of one of them."""
    away = mapped("n1", {"orders.in": [{"subject": "lost", "weight": 100}]})
    sentence = asked("orders.in", away, mapped("n2", {}), mapped("n3", {})).sentence
    assert sentence == (
        "orders.in is stored by APP > ORDERS; APP maps orders.in to lost on n1, and no stream that was seen stores lost"
    )


def test_of_two_mappings_any_may_apply() -> None:
    both = {"a.*": [{"subject": "orders.{{wildcard(1)}}", "weight": 100}], "a.>": [{"subject": "lost", "weight": 100}]}
    answer = asked("a.b", *(mapped(name, both) for name in ("n1", "n2", "n3")))
    assert answer.sentence == (
        "a.b is stored by APP > ORDERS; APP may map a.> to lost, and no stream that was seen stores lost"
    )
    assert answer.found[0].facts[1] == "as orders.b: APP may map a.* to orders.{{wildcard(1)}}"


def test_consumers_filter_what_the_stream_makes_of_a_subject() -> None:
    change = {"config.subject_transform": {"src": "orders.>", "dest": "archive.>"}}
    facts = asked("orders.eu.x", {"stream": "APP/ORDERS", "set": change}).found[0].facts
    assert facts[1] == "stored as archive.eu.x (subject_transform)"


def test_counts_of_a_follower_are_not_shown() -> None:
    silent = {"server": "n3", "endpoint": "JSZ", "drop": True}
    led = {"consumer": "APP/ORDERS/billing", "set": {"cluster.leader": "n3"}}
    facts = asked("ORDERS", silent, led).found[0].facts
    assert "read by billing (pull of orders.paid): its leader did not respond, so its backlog is not known" in facts
    assert asked("ORDERS#60", {"stream": "APP/ORDERS", "set": {"cluster.leader": "n3"}}, silent).sentence == (
        "ORDERS#60: undecided: its leader did not respond"
    )


def test_a_server_that_is_down_may_have_the_stream() -> None:
    down = {"server": "n2", "drop": True}
    gone = {"cluster.replicas": [{"name": "n2", "current": False, "offline": True, "active": 190_000_000_000}]}
    answer = asked("NOWHERE", down, {"stream": "APP/ORDERS", "set": gone})
    assert not answer.found
    assert answer.unseen
