"""Streams and consumers that are made and deleted while jsdoctor looks: no fault and no gap."""

import re
from typing import Any

import msgspec
import pytest
from nats.aio.client import Client

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.replies.assemble import assemble
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.sources.looking import ONCE, PLAN, gaps, seen, take_samples
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.outage import with_client
from tests.support.samples import severities

pytestmark = pytest.mark.real

NAME = "CHURN"
_CREATED = re.compile(rb'"created":\s*"[^"]+"')


def _make(cluster: Cluster) -> str:
    """A replicated stream with two consumers. Which server leads the consumer `job`."""

    async def make(client: Client) -> None:
        await add_stream(client, NAME, subjects=["churn"], num_replicas=3, max_age=HOUR_NS, max_bytes=1 << 20)
        await add_consumer(client, NAME, "stays")
        await add_consumer(client, NAME, "job")

    with_client(cluster, make)
    leader = ""

    def led() -> bool:
        nonlocal leader
        snapshot = seen(assemble(take_samples(cluster.url("sys"), plan=ONCE)))
        leader = next(c.cluster.leader for _, c in snapshot.led_consumers() if c.name == "job" and c.cluster)
        return len(list(snapshot.led_consumers())) == 2

    wait_until(led, "two led consumers", timeout=20)
    return leader


def _delete(cluster: Cluster) -> None:
    with_client(cluster, lambda client: api(client, f"CONSUMER.DELETE.{NAME}.job"))


def _jsz(sample: Sample) -> dict[str, Exchange]:
    responses = [e for e in sample.exchanges if e.endpoint is Endpoint.JSZ]
    return {msgspec.json.decode(e.body)["server"]["name"]: e for e in responses}


def _with_jsz(sample: Sample, replies: dict[str, Exchange], *more: Exchange) -> Sample:
    others = [e for e in sample.exchanges if e.endpoint is not Endpoint.JSZ]
    return msgspec.structs.replace(sample, exchanges=(*others, *replies.values(), *more))


def _aged(sample: Sample) -> Sample:
    """The same, with every asset made long ago: what was just made may be without a leader."""

    def aged(exchange: Exchange) -> Exchange:
        return msgspec.structs.replace(exchange, body=_CREATED.sub(b'"created":"2020-01-01T00:00:00Z"', exchange.body))

    return msgspec.structs.replace(sample, exchanges=tuple(map(aged, sample.exchanges)))


def test_a_consumer_that_goes_during_the_requests(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    leader = _make(cluster)
    (before,) = map(_aged, take_samples(cluster.url("sys"), plan=ONCE))
    _delete(cluster)
    (after,) = map(_aged, take_samples(cluster.url("sys"), plan=ONCE))
    # Its leader was asked after the deletion, the others before.
    torn = _with_jsz(before, {**_jsz(before), leader: _jsz(after)[leader]})
    [gap] = gaps([before, torn])
    assert gap.subject.name == "job"
    assert gap.reason == f"other servers report {leader} as its leader, and {leader} does not confirm it"
    again = [msgspec.structs.replace(e, endpoint=Endpoint.JSZ_AGAIN) for e in _jsz(after).values()]
    whole = _with_jsz(torn, _jsz(torn), *again)
    assert gaps([before, whole]) == []
    assert {c.name for s in seen(assemble([before, whole])).streams for c in s.consumers} == {"stays"}
    # What is torn in an earlier sample and gone in the last one is no gap either.
    assert gaps([torn, after]) == []
    # The repeated answers still tell of what is really without a leader.
    still = [msgspec.structs.replace(e, endpoint=Endpoint.JSZ_AGAIN) for e in _jsz(torn).values()]
    assert [gap.subject.name for gap in gaps([before, _with_jsz(torn, _jsz(torn), *still)])] == ["job"]


def test_a_consumer_that_has_no_leader_yet_is_no_gap_while_it_is_new(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    _make(cluster)
    for user, endpoint in (("sys", Endpoint.JSZ), ("app", Endpoint.CONSUMER_LIST)):
        earlier, _ = take_samples(cluster.url(user), plan=msgspec.structs.replace(PLAN, interval_s=1.2))
        (sample,) = take_samples(cluster.url(user), plan=ONCE)
        leaderless = _edited(sample, endpoint, _without_leader)
        assert gaps([leaderless, leaderless]) == []
        assert [severities(code, (leaderless, leaderless)) for code in ("JSD702", "JSD411", "JSD901")] == [{}] * 3
        old = _aged(leaderless)
        assert [gap.subject.name for gap in gaps([old, old])] == ["job"]
        both = (_aged(_edited(earlier, endpoint, _without_leader)), old)
        assert set(severities("JSD702", both, {"settle": "0s"})) == {f"APP/{NAME}/job"}
        if user == "sys":
            assert severities("JSD702", both) == {}, "its Raft group and its servers have just begun"


def _without_leader(body: dict[str, Any]) -> None:
    """Neither a JSZ reply nor a CONSUMER.LIST names a leader of the consumer `job`."""
    for account in body.get("data", {}).get("account_details", []):
        for stream in account.get("stream_detail", []):
            _without_leader({"consumers": stream.get("consumer_detail", [])})
    for consumer in body.get("consumers", []):
        if consumer["name"] == "job":
            consumer["cluster"].pop("leader")


def test_a_consumer_that_is_missing_from_both_samples_although_it_lives(cluster_factory: ClusterFactory) -> None:
    """It is deleted and made anew again and again, and both lists waited in vain for it."""
    cluster = cluster_factory(nodes=3)
    _make(cluster)
    torn = _edited(take_samples(cluster.url("app"), plan=ONCE)[0], Endpoint.CONSUMER_LIST, _call_missing)
    assert [gap.subject.name for gap in gaps([torn, torn])] == ["job"]

    async def requested_singly(client: Client) -> Exchange:
        subject = f"$JS.API.CONSUMER.INFO.{NAME}.job"
        reply = await client.request(subject, timeout=5)
        return Exchange(Access.ACCOUNT, Endpoint.CONSUMER_INFO_AGAIN, subject, torn.taken_at, 1, reply.data)

    lives = with_client(cluster, requested_singly)
    _delete(cluster)
    gone = with_client(cluster, requested_singly)
    for answer, left in ((lives, {"stays", "job"}), (gone, {"stays"})):
        whole = msgspec.structs.replace(torn, exchanges=(*torn.exchanges, answer))
        assert gaps([torn, whole]) == []
        assert [severities(code, (torn, whole)) for code in ("JSD702", "JSD411", "JSD901")] == [{}] * 3
        assert {c.name for _, c in seen(assemble([torn, whole])).led_consumers()} == left
    # An answer of a member that lost its leader, or none, leaves it silent.
    leaderless = _edited(msgspec.structs.replace(torn, exchanges=(lives,)), lives.endpoint, _lost)
    still = msgspec.structs.replace(torn, exchanges=(*torn.exchanges, *leaderless.exchanges))
    assert [gap.subject.name for gap in gaps([torn, still])] == ["job"]


def _lost(reply: dict[str, Any]) -> None:
    reply["created"] = "2020-01-01T00:00:00Z"
    reply["cluster"].pop("leader")


def test_a_consumer_that_goes_while_its_stream_is_listed(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    _make(cluster)
    (before,) = take_samples(cluster.url("app"), plan=ONCE)
    _delete(cluster)
    (after,) = take_samples(cluster.url("app"), plan=ONCE)
    # What a server answers that waits in vain for the consumer while it is deleted.
    torn = _edited(before, Endpoint.CONSUMER_LIST, _call_missing)
    assert [gap.subject.name for gap in gaps([before, torn])] == ["job"]
    again = [
        msgspec.structs.replace(e, endpoint=Endpoint.CONSUMER_LIST_AGAIN)
        for e in after.exchanges
        if e.endpoint is Endpoint.CONSUMER_LIST
    ]
    whole = msgspec.structs.replace(torn, exchanges=(*torn.exchanges, *again))
    assert gaps([before, whole]) == []
    assert severities("JSD702", (before, whole)) == {}
    assert gaps([torn, after]) == []


def _call_missing(page: dict[str, Any]) -> None:
    page["consumers"] = [c for c in page["consumers"] if c["name"] != "job"]
    page["missing"] = ["job"]


def _edited(sample: Sample, endpoint: Endpoint, edit: Any) -> Sample:
    def edited(exchange: Exchange) -> Exchange:
        if exchange.endpoint is not endpoint:
            return exchange
        body = msgspec.json.decode(exchange.body)
        edit(body)
        return msgspec.structs.replace(exchange, body=msgspec.json.encode(body))

    return msgspec.structs.replace(sample, exchanges=tuple(map(edited, sample.exchanges)))
