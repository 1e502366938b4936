"""Whether servers can be taken down, on recordings of three healthy servers and on small edits of them."""

from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.engine.preflight.choice import NoSuchServerError, chosen
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.engine.preflight.judge import preflight
from jsdoctor.model.harm import Acceptance, Harm
from jsdoctor.model.preflight import GoNoGo, Preflight
from jsdoctor.model.server import Servers
from tests.support.evidence import evidence_of

Json = dict[str, Any]
SYSTEM = ["three-nodes-2.10.26", "three-nodes-2.12.8", "three-nodes-2.15.1"]
BUSY = [f"{name}-busy" for name in SYSTEM]
PEERS = {"n1": "fjFyEjc1", "n2": "44jzkV9D", "n3": "BXScrY9i"}


def result(base: str, *edits: Json, without: str = "n2", **case: Any) -> Preflight:
    return preflight(evidence_of({"base": base, "edit": list(edits), **case}), without.split())


def peer(name: str, **values: Any) -> Json:
    return {"name": name, "peer": PEERS[name], "current": True, "active": 400_000_000, **values}


def orders(*peers: Json, **more: Any) -> Json:
    """The stream ORDERS, led by n1, with these peers."""
    return {"stream": "APP/ORDERS", "set": {"cluster.leader": "n1", "cluster.replicas": list(peers)}, **more}


def seen(judged: Preflight) -> dict[str, Harm]:
    return {obstacle.subject.label: obstacle.harm for obstacle in judged.obstacles}


@pytest.mark.parametrize("base", SYSTEM + BUSY)
@pytest.mark.parametrize("server", ["n1", "n2", "n3"])
def test_any_one_of_three_healthy_servers_may_stop(base: str, server: str) -> None:
    judged = result(base, without=server)
    assert (judged.verdict, judged.groups, judged.spare) == (GoNoGo.GO, 20, 0)
    assert [effect for effect in judged.effects if effect.kind == "leaders_move"]


@pytest.mark.parametrize("base", SYSTEM)
def test_two_of_three_take_the_quorum_of_every_group(base: str) -> None:
    judged = result(base, without="n1 n2")
    assert judged.verdict is GoNoGo.NO_GO
    assert set(seen(judged).values()) == {Harm.QUORUM_LOST}
    assert {"cluster", "APP > ORDERS"} <= seen(judged).keys()
    assert "APP > ORDERS > billing" not in seen(judged), "consumers of a stream that is named are not named as well"
    assert all("one server at a time" in obstacle.advice for obstacle in judged.obstacles)


def test_a_position_in_memory_is_lost_whatever_becomes_of_its_stream() -> None:
    """Acceptance of an unavailable stream does not cover it, nor what was not read of that stream."""
    alone = {"set": {"config.num_replicas": 1, "cluster.leader": "n2", "cluster.replicas": []}}
    in_memory = {"set": {**alone["set"], "config.mem_storage": True}}
    edits = [{"stream": "APP/ORDERS", **alone}, {"consumer": "APP/ORDERS/billing", **in_memory}]
    judged = preflight(
        evidence_of({"base": "three-nodes-2.15.1", "edit": edits}), ["n2"], accepted=[Acceptance.UNAVAILABLE]
    )
    assert seen(judged)["APP > ORDERS"] is Harm.UNAVAILABLE
    assert seen(judged)["APP > ORDERS > billing"] is Harm.DATA_LOST
    assert judged.verdict is GoNoGo.NO_GO


def test_three_of_three_lose_what_is_in_memory() -> None:
    judged = result("three-nodes-2.15.1", without="n1 n2 n3")
    assert seen(judged)["APP > CACHE"] is Harm.DATA_LOST
    assert seen(judged)["APP > ORDERS"] is Harm.QUORUM_LOST


@pytest.mark.parametrize("base", SYSTEM)
def test_a_member_that_is_gone_already_counts(base: str) -> None:
    gone = peer("n3", current=False, offline=True, active=190_000_000_000)
    judged = result(base, orders(peer("n2"), gone))
    assert seen(judged) == {"APP > ORDERS": Harm.QUORUM_LOST}
    assert judged.obstacles[0].remaining == ("n1",)
    assert judged.obstacles[0].advice.startswith("start n3")


@pytest.mark.parametrize("base", SYSTEM)
def test_a_member_that_is_behind_in_both_samples_is_waited_for(base: str) -> None:
    behind = peer("n3", current=False, lag=5_000)
    judged = result(base, orders(peer("n2"), behind))
    assert seen(judged) == {"APP > ORDERS": Harm.NOT_CURRENT}
    assert judged.obstacles[0].advice == "wait until n3 has caught up"
    assert result(base, orders(peer("n2"), behind), without="n3").verdict is GoNoGo.GO


def test_entries_on_their_way_are_no_lag() -> None:
    first = {"stream": "APP/ORDERS", "samples": "first", "set": {"state.last_seq": 100}}
    moving = orders(peer("n2"), peer("n3", current=False, lag=20))
    assert result("three-nodes-2.15.1", first, moving).verdict is GoNoGo.GO


def test_of_one_sample_a_member_that_is_not_current_is_undecided() -> None:
    judged = result("three-nodes-2.15.1", orders(peer("n2"), peer("n3", current=False, lag=3)), samples=1)
    assert judged.verdict is GoNoGo.UNKNOWN
    assert judged.unseen[0].subject.label == "APP > ORDERS"


@pytest.mark.parametrize("base", SYSTEM)
def test_a_copy_without_the_messages_is_behind_although_its_leader_calls_it_current(base: str) -> None:
    empty = {"state.messages": 0, "state.last_seq": 0, "state.first_seq": 0}
    lead = {"stream": "APP/CACHE", "set": {"cluster.leader": "n1", "cluster.replicas": [peer("n2"), peer("n3")]}}
    judged = result(base, lead, {"stream": "APP/CACHE", "copies": "n3", "set": empty})
    assert seen(judged) == {"APP > CACHE": Harm.NOT_CURRENT}
    both = [{"stream": "APP/CACHE", "copies": copy, "set": empty} for copy in ("n3", "n1")]
    (alone,) = result(base, {"stream": "APP/CACHE", "remove": ["cluster.leader"]}, *both).obstacles
    assert alone.harm is Harm.NO_LEADER
    assert alone.message == "no server leads it now; n2 alone has all its messages, in memory"


def single(name: str, **more: Any) -> Json:
    on = {"config.num_replicas": 1, "cluster": {"name": "C", "leader": "n2"}, **more}
    return {"stream": name, "copies": "n2", "set": on}


def only_on_n2(name: str) -> list[Json]:
    return [{"stream": name, "copies": copy, "drop": True} for copy in ("n1", "n3")]


def test_a_single_copy_is_unavailable_or_lost() -> None:
    edits = [single("APP/RING"), *only_on_n2("APP/RING"), single("APP/CACHE"), *only_on_n2("APP/CACHE")]
    judged = result("three-nodes-2.15.1", *edits)
    assert seen(judged) == {"APP > CACHE": Harm.DATA_LOST, "APP > RING": Harm.UNAVAILABLE}
    assert [obstacle.holds for obstacle in judged.obstacles] == ["60 messages", "50 messages"]
    evidence = evidence_of({"base": "three-nodes-2.15.1", "edit": edits})
    assert preflight(evidence, ["n2"], tuple(Acceptance)).verdict is GoNoGo.GO
    assert preflight(evidence, ["n2"], (Acceptance.UNAVAILABLE,)).verdict is GoNoGo.NO_GO
    assert preflight(evidence, ["n1"]).verdict is GoNoGo.GO


def test_clients_need_room() -> None:
    limit = {"all_servers": True, "endpoint": "VARZ", "set": {"max_connections": 4, "connections": 3}}
    judged = result("three-nodes-2.15.1", limit)
    assert seen(judged) == {"C-4d9e6a24": Harm.NO_ROOM}
    assert "3 clients of n2 must move, and the other servers take 2 more" in judged.obstacles[0].message


@pytest.mark.parametrize("base", [f"{name}-account" for name in SYSTEM])
def test_a_plain_account_cannot_know(base: str) -> None:
    assert result(base).verdict is GoNoGo.UNKNOWN
    assert result(base, without="n1 n2").verdict is GoNoGo.NO_GO
    assert result(base, without="n9").verdict is GoNoGo.UNKNOWN


def test_a_server_that_did_not_respond_is_not_seen() -> None:
    silent = [{"server": "n3", "endpoint": endpoint, "drop": True} for endpoint in ("VARZ", "JSZ", "RAFTZ")]
    judged = result("three-nodes-2.15.1", *silent)
    assert judged.verdict is not GoNoGo.GO


def test_what_was_not_read_keeps_every_choice_of_servers_from_a_go() -> None:
    """Names and groups are read once for all choices, and what they lack concerns each of them."""
    unread = {"all_servers": True, "endpoint": "HEALTHZ", "drop": True}
    evidence = evidence_of({"base": "three-nodes-2.15.1", "edit": [unread]})
    landscape = Landscape(evidence)
    choices = [chosen([name], landscape) for name in ("n1", "n2", "n3")]
    judged = [preflight(evidence, choice, (), landscape) for choice in choices]
    assert [each.verdict for each in judged] == [GoNoGo.UNKNOWN] * 3
    assert judged[0] == preflight(evidence, ["n1"])


def test_a_stream_whose_leader_did_not_respond_is_not_known() -> None:
    judged = result("three-nodes-2.15.1", {"stream": "APP/RING", "copies": "leader", "drop": True})
    assert judged.verdict is GoNoGo.UNKNOWN
    assert "APP > RING" in {gap.subject.label for gap in judged.unseen}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["n2"], ("n2",)),
        (["n2", "n2"], ("n2",)),
        (["tag:az=1"], ("n1",)),
        (["tag:AZ:1"], ("n1",)),
        (["cluster:C-4d9e6a24"], ("n1", "n2", "n3")),
    ],
)
def test_servers_are_named_by_name_tag_and_cluster(words: list[str], names: tuple[str, ...]) -> None:
    tags = {"server": "n1", "endpoint": "VARZ", "set": {"tags": ["az:1", "fast"]}}
    assert chosen(words, Landscape(evidence_of({"base": "three-nodes-2.15.1", "edit": [tags]}))) == names


@pytest.mark.parametrize(("word", "nearest"), [("n22", "'n2'"), ("cluster:C-4d9e6a25", "'C-4d9e6a24'")])
def test_an_unknown_name_leads_to_the_nearest(word: str, nearest: str) -> None:
    with pytest.raises(NoSuchServerError, match=f"did you mean {nearest}"):
        chosen([word], Landscape(evidence_of({"base": "three-nodes-2.15.1"})))


def test_one_server_alone_has_the_only_copies() -> None:
    judged = result("one-node-2.15.1", without="n1")
    assert set(seen(judged).values()) == {Harm.DATA_LOST, Harm.UNAVAILABLE}
    assert all(not obstacle.replicas for obstacle in judged.obstacles)


def test_a_work_queue_that_a_follower_shows_empty_is_no_lag() -> None:
    lead = {"stream": "APP/WORK", "set": {"cluster.leader": "n1", "cluster.replicas": [peer("n2"), peer("n3")]}}
    drained = {"stream": "APP/WORK", "copies": "followers", "set": {"state.messages": 0}}
    assert result("three-nodes-2.15.1", lead, drained).verdict is GoNoGo.GO


def test_links_that_were_not_read_are_not_seen_where_there_may_be_some() -> None:
    unread = [{"server": "n2", "endpoint": endpoint, "drop": True} for endpoint in ("LEAFZ", "GATEWAYZ")]
    assert result("three-nodes-2.15.1", *unread).verdict is GoNoGo.GO
    listens = {"server": "n2", "endpoint": "VARZ", "set": {"leaf.port": 7422}}
    judged = result("three-nodes-2.15.1", *unread, listens)
    assert [gap.reason for gap in judged.unseen] == ["its leaf nodes and gateways were not read"]


def test_clients_of_a_server_that_was_asked_alone_are_not_cut_off() -> None:
    clients = {"server": "n2", "endpoint": "VARZ", "set": {"connections": 8}}
    whole = evidence_of({"base": "three-nodes-2.15.1", "edit": [clients]})
    servers = whole.get(Servers)
    assert servers is not None
    alone = replace(servers, servers=tuple(each for each in servers.servers if each.name == "n2"), complete=False)
    judged = preflight(whole.joined(alone), ["n2"])
    assert Harm.CUT_OFF not in seen(judged).values()
    assert any("no other server of" in gap.reason for gap in judged.unseen)
    assert Harm.CUT_OFF in seen(preflight(whole.joined(replace(alone, complete=True)), ["n2"])).values()
