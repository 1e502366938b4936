"""Where things are, on recordings of healthy servers and on small edits of them."""

from __future__ import annotations

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
    assert asked("nothing.here").unseen == ()
    hidden = asked("nothing.here", {"server": "n2", "endpoint": "JSZ", "drop": True})
    assert not hidden.found
    assert hidden.unseen
    assert asked("nothing.here", base="three-nodes-2.15.1-account").unseen, "a plain login sees its own account alone"
