"""Collection through the JetStream API of a plain account, on real servers."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import nats
import pytest

from jsdoctor.demo.server import free_ports
from jsdoctor.model.exchange import Endpoint, Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.server import Accounts
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.clock.servers import API_ROUNDS
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.servers.account import AccountSource
from jsdoctor.sources.servers.ask import Asker
from jsdoctor.sources.servers.collection_result import CollectionResult
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.sources.conftest import StartServer
from tests.sources.looking import (
    NET_S,
    NIGHTLY_UNLESS_DEFAULT,
    ONCE,
    PLAN,
    asked,
    bodies,
    connected,
    furnished,
    gaps,
    leaders,
    missing,
    seen,
    streams,
    take_samples,
)
from tests.support.deployment import add_consumer, add_stream
from tests.support.deployment import streams as furniture

pytestmark = pytest.mark.real


@pytest.mark.parametrize("nodes", [1, 3])
def test_requests_are_few_and_change_nothing(shared_cluster: ClusterFactory, server_version: str, nodes: int) -> None:
    cluster = furnished(shared_cluster, server_version, nodes)
    samples, calls = asyncio.run(_audited(cluster))
    by_name = streams(samples)
    assert {stream["name"] for stream in furniture(nodes)} <= by_name.keys()
    with_consumers = {name for name, stream in by_name.items() if stream.state.consumer_count}
    assert {"ORDERS", "WORK"} <= with_consumers < by_name.keys()
    # The servers' own record of every API call in these two samples, and there is no other call.
    (at_rest,) = bodies(samples[1], "CONSUMER.LIST.rest")
    assert at_rest
    lists = {f"$JS.API.CONSUMER.LIST.{name}": 1 if name in at_rest else 2 for name in with_consumers}
    clock_requests = Counter(
        e.target for e in samples[0].exchanges if e.endpoint is Endpoint.CLOCK and "$JS.API" in e.target
    )
    assert len(clock_requests) <= (nodes if nodes > 1 else 0)
    assert all(
        subject.startswith("$JS.API.STREAM.INFO.") and count <= API_ROUNDS for subject, count in clock_requests.items()
    )
    # ORDERS has a consumer of several filters: which of them ever matched? The uploads of an object store are counted.
    near = Counter({"$JS.API.STREAM.INFO.ORDERS": 1, "$JS.API.STREAM.INFO.OBJ_files": 1})
    assert calls == Counter({"$JS.API.INFO": 1, "$JS.API.STREAM.LIST": 2, **lists}) + clock_requests + near
    assert [asked(sample) for sample in samples] == [
        {"CONNECT": 1, "USER.INFO": 1, "INFO": 1, "STREAM.LIST": 1, "CONSUMER.LIST": len(with_consumers)},
        +Counter(
            {
                "STREAM.LIST": 1,
                "CONSUMER.LIST.rest": 1,
                "CONSUMER.LIST": len(with_consumers) - len(at_rest),
                "STREAM.SUBJECTS": 1,
            }
        ),
    ]
    assert gaps(samples) == []
    assert {stream.account for stream in by_name.values()} == {"APP"}
    assert all(stream.from_leader and stream.consumers_seen for stream in by_name.values())
    assert all(len(stream.consumers) == stream.state.consumer_count for stream in by_name.values())
    accounts = assemble(samples).get(Accounts)
    assert accounts is not None
    assert [(account.name, account.tiers[0].streams) for account in accounts.accounts] == [("APP", len(by_name))]


def test_pages_of_streams_and_consumers(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()

    async def fill() -> None:
        client = await nats.connect(cluster.servers("app"))
        await asyncio.gather(*(add_stream(client, f"S{number}", storage="memory") for number in range(600)))
        await asyncio.gather(*(add_consumer(client, "S7", f"c{number}", mem_storage=True) for number in range(300)))
        await client.close()

    asyncio.run(fill())
    samples = take_samples(cluster.url("app"))
    assert [asked(sample)["STREAM.LIST"] for sample in samples] == [3, 3]
    assert [asked(sample)["CONSUMER.LIST"] for sample in samples] == [2, 0]
    by_name = streams(samples)
    assert len(by_name) == 600
    assert len(by_name["S7"].consumers) == 300
    assert by_name["S7"].consumers_seen
    assert gaps(samples) == []


def test_consumers_that_cannot_have_changed_are_not_requested_again(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()
    names = ("IDLE", "STORES", "WAITS", "HOLDS", "GROWS")

    async def main(connection: Connection) -> tuple[list[str], list[str]]:
        client = await nats.connect(cluster.servers("app"))
        for name in names:
            await add_stream(client, name, subjects=[name], max_msgs=100, discard="old")
            if name == "HOLDS":
                await client.request(name, b"x")
            await add_consumer(client, name, "worker", deliver_policy="new" if name == "STORES" else "all")
        await client.request("WAITS", b"x")  # nobody takes it
        held = await client.jetstream().pull_subscribe("HOLDS", "worker", stream="HOLDS")
        await held.fetch(1)
        source = AccountSource(Asker(connection, NET_S), "$JS.API", PLAN)
        await source.sample()
        await client.request("STORES", b"x")
        await add_consumer(client, "GROWS", "another")
        second = await source.sample()
        third = await source.sample()
        await client.close()
        return _lists(second), _lists(third)

    second, third = asyncio.run(connected(cluster.url("app"), main))
    assert second == ["GROWS", "HOLDS", "STORES", "WAITS"]
    assert third == ["HOLDS", "STORES", "WAITS"]


def _lists(collection: CollectionResult) -> list[str]:
    """The streams whose consumers were asked for."""
    return sorted(e.target.rpartition(".")[2] for e in collection.exchanges if e.endpoint is Endpoint.CONSUMER_LIST)


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_streams_of_a_killed_server_are_silent_assets(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, nodes=3)
    led = asyncio.run(_six_r1(cluster))
    meta = cluster.meta_leader()
    victim = next(leader for leader in led.values() if leader != meta)
    cluster.kill(victim)
    samples = take_samples(_survivors(cluster, victim))
    lost = {name for name, leader in led.items() if leader == victim}
    lists = [e.target for e in samples[0].exchanges if e.endpoint == "CONSUMER.LIST"]
    assert sorted(lists) == [f"$JS.API.CONSUMER.LIST.{name}" for name in sorted(led.keys() - lost)]
    assert bodies(samples[1], "CONSUMER.LIST.rest") == [sorted(led.keys() - lost)]
    assert _silent(samples) == lost
    assert {("stream", f"APP > {name}") for name in lost} == set(missing(samples))
    assert streams(samples).keys() == led.keys() - lost


def test_streams_of_a_stopped_server_keep_their_name_and_are_not_judged(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    led = asyncio.run(_six_r1(cluster))
    meta = cluster.meta_leader()
    victim = next(leader for leader in led.values() if leader != meta)
    cluster.stop(victim)  # a clean shutdown is soon known: the list then has its streams, with an empty state
    lost = {name for name, leader in led.items() if leader == victim}
    wait_until(lambda: _silent(take_samples(_survivors(cluster, victim), plan=ONCE)) == lost, "the stop to be known")
    samples = take_samples(_survivors(cluster, victim), plan=ONCE)
    assert _silent(samples) == lost
    for name, stream in streams(samples).items():
        assert (stream.from_leader, stream.consumers_seen) == (name not in lost, name not in lost)


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_without_a_meta_leader_there_is_one_clear_gap(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, nodes=3)
    asyncio.run(_six_r1(cluster))
    meta = cluster.meta_leader()
    survivor = next(name for name in cluster.names if name != meta)
    for name in set(cluster.names) - {survivor}:
        cluster.kill(name)
    samples = take_samples(cluster.servers("app")[cluster.names.index(survivor)], plan=type(PLAN)(timeout_s=1.0))
    assert len(samples) == 1  # no second sample of what does not respond
    incomplete = {(gap.kind, gap.subject.label) for gap in gaps(samples)}
    assert incomplete in ({("access", "APP")}, {("stream", "APP"), ("endpoint", "APP")})


def test_an_account_without_jetstream(start_server: StartServer, tmp_path: Path) -> None:
    users = "accounts { A: { users: [{user: a, password: a}] }, B: { users: [{user: b, password: b}], jetstream: on } }"
    server = start_server(f"jetstream: {{ store_dir: '{tmp_path}' }}\n{users}\n")
    samples = take_samples(f"nats://a:a@127.0.0.1:{server.port}")
    assert [gap.reason for gap in gaps(samples)] == ["JetStream is not enabled for this account (error 10039)"]
    assert missing(samples) == [("access", "A")]


def test_a_server_without_jetstream(start_server: StartServer) -> None:
    server = start_server("")
    samples = take_samples(f"nats://127.0.0.1:{server.port}")
    (gap,) = gaps(samples)
    assert gap.reason == "no JetStream responds at $JS.API"
    assert "--js-domain" in gap.how_to_get


DENY = {
    "stream list": ('publish: { deny: "$JS.API.STREAM.LIST" }', [("access", "$JS.API.STREAM.LIST")]),
    "consumer list": ('publish: { deny: "$JS.API.CONSUMER.LIST.>" }', [("access", "$JS.API.CONSUMER.LIST.*")]),
    "one consumer list": ('publish: { deny: "$JS.API.CONSUMER.LIST.S1" }', [("access", "$JS.API.CONSUMER.LIST.*")]),
    "account info": ('publish: { deny: "$JS.API.INFO" }', [("access", "$JS.API.INFO")]),
    "everything": ('publish: { allow: "nothing" }', [("access", "$JS.API.INFO"), ("access", "$JS.API.STREAM.LIST")]),
    "inbox": ('subscribe: { deny: "_INBOX.>" }', [("access", "cluster")]),
    "who we are": ('publish: { deny: "$SYS.>" }', []),
}


@pytest.mark.parametrize("denied", DENY)
def test_a_missing_permission_is_named(start_server: StartServer, tmp_path: Path, denied: str) -> None:
    permissions, expected = DENY[denied]
    users = f"{{user: a, password: a}}, {{user: b, password: b, permissions: {{ {permissions} }}}}"
    server = start_server(
        f"jetstream: {{ store_dir: '{tmp_path}' }}\naccounts: {{ A: {{ users: [{users}], jetstream: on }} }}"
    )

    async def fill() -> None:
        client = await nats.connect(f"nats://a:a@127.0.0.1:{server.port}")
        for number in range(40):
            await add_stream(client, f"S{number}", storage="memory")
            await add_consumer(client, f"S{number}", "c", mem_storage=True)
        await client.close()

    asyncio.run(fill())
    # A timeout longer than the net: a denial is no reason to wait.
    samples = take_samples(f"nats://b:b@127.0.0.1:{server.port}", plan=type(PLAN)(interval_s=0.1, timeout_s=2 * NET_S))
    assert missing(samples) == expected
    for gap in gaps(samples):
        assert "ermissions Violation" in gap.reason
        assert "allow" in gap.how_to_get
    if denied == "consumer list":
        assert not any(stream.consumers_seen for stream in streams(samples).values())
        assert "of 40 streams (S0, S1, S10 and 37 more)" in gaps(samples)[0].reason
    if denied == "one consumer list":
        assert [name for name, stream in streams(samples).items() if not stream.consumers_seen] == ["S1"]
        assert "of stream S1" in gaps(samples)[0].reason
    if denied == "who we are":
        assert len(streams(samples)) == 40


def test_a_server_that_falls_silent_costs_one_timeout_per_round(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()

    async def use(connection: Connection) -> tuple[AccountSource, list[CollectionResult]]:
        for number in range(100):
            await add_stream(connection.client, f"S{number}", storage="memory")
            await add_consumer(connection.client, f"S{number}", "c", mem_storage=True)
        source = AccountSource(Asker(connection, 1.0), "$JS.API", PLAN)
        whole = await source.sample()
        source = AccountSource(Asker(connection, 1.0), "$JS.API", PLAN)
        silent = await source.sample(lambda text: cluster.pause("n1") if "the consumers of" in text else None)
        return source, [whole, silent, await source.sample()]

    try:
        source, (whole, silent, after) = asyncio.run(asyncio.wait_for(connected(cluster.url("app"), use), NET_S))
    finally:
        cluster.resume("n1")
    assert (len(whole.exchanges), whole.gaps) == (103, [])
    assert source.exhausted
    assert [e.endpoint for e in silent.exchanges if e.endpoint is Endpoint.CONSUMER_LIST] == []
    late = {gap.subject for gap in silent.gaps if gap.reason.startswith("no reply to $JS.API.CONSUMER.LIST.S")}
    assert after.exchanges == []
    listed = {gap.subject for gap in after.gaps if "$JS.API.STREAM.LIST" in gap.reason}
    (rest,) = [gap for gap in silent.gaps if "were not requested" in gap.reason]
    assert listed == {Subject(kind="account", name="APP")}
    # The rest was given up when nothing had been answered for a timeout: three rounds of at most sixteen went out.
    assert 16 <= len(late) < 100
    assert f"of {100 - len(late)} streams (" in rest.reason


def test_a_lost_connection_is_one_gap(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()

    async def use(connection: Connection) -> CollectionResult:
        for number in range(40):
            await add_stream(connection.client, f"S{number}", storage="memory")
            await add_consumer(connection.client, f"S{number}", "c", mem_storage=True)
        source = AccountSource(Asker(connection, 2 * NET_S), "$JS.API", PLAN)
        await source.sample()
        cluster.kill("n1")
        return await source.sample()

    collection: CollectionResult = asyncio.run(asyncio.wait_for(connected(cluster.url("app"), use), NET_S))
    assert collection.exchanges == []
    assert {(gap.kind, gap.subject.kind) for gap in collection.gaps} <= {
        ("connection", "cluster"),
        ("consumer", "cluster"),
    }
    assert ("connection", "cluster") in {(gap.kind, gap.subject.kind) for gap in collection.gaps}


def test_another_domain_over_a_leaf_node(start_server: StartServer, tmp_path: Path) -> None:
    """The hub's streams through the leaf, by the hub's API prefix; the leaf's own by the default one."""
    app = "accounts: { APP: { users: [{user: app, password: app}], jetstream: on } }\n"
    (port,) = free_ports(1)
    hub = start_server(
        f"server_name: hub\n{app}jetstream: {{ store_dir: '{tmp_path}/hub', domain: hub }}\n"
        f'leafnodes: {{ listen: "127.0.0.1:{port}" }}\n'
    )
    remote = f"{{ url: 'nats-leaf://app:app@127.0.0.1:{port}', account: APP }}"
    leaf = start_server(
        f"server_name: leaf\n{app}jetstream: {{ store_dir: '{tmp_path}/leaf', domain: leaf }}\n"
        f"leafnodes: {{ remotes: [{remote}] }}\n"
    )

    async def fill() -> None:
        for server, name in ((hub, "AT_HUB"), (leaf, "AT_LEAF")):
            client = await nats.connect(f"nats://app:app@127.0.0.1:{server.port}")
            await add_stream(client, name, subjects=[name], storage="memory")
            await add_consumer(client, name, "c", mem_storage=True)
            await client.close()
        client = await nats.connect(f"nats://app:app@127.0.0.1:{leaf.port}")
        for _ in range(100):  # the leaf connects in its own time
            with_hub = await client.request("$JS.hub.API.INFO", timeout=5) if await _reaches_hub(client) else None
            if with_hub:
                break
            await asyncio.sleep(0.1)
        await client.close()

    asyncio.run(fill())
    url = f"nats://app:app@127.0.0.1:{leaf.port}"
    through = take_samples(url, plan=ONCE, js_api_prefix="$JS.hub.API")
    assert streams(through).keys() == {"AT_HUB"}
    assert missing(through) == []
    assert [consumer.name for consumer in streams(through)["AT_HUB"].consumers] == ["c"]
    assert streams(take_samples(url, plan=ONCE)).keys() == {"AT_LEAF"}
    (gap,) = gaps(take_samples(url, plan=ONCE, js_api_prefix="$JS.elsewhere.API"))
    assert "$JS.elsewhere.API" in gap.reason


async def _reaches_hub(client: Any) -> bool:
    try:
        await client.request("$JS.hub.API.INFO", timeout=5)
    except nats.errors.NoRespondersError:
        return False
    return True


async def _audited(cluster: Cluster) -> tuple[Any, Counter[str]]:
    """Two samples, and every JetStream API request that servers reported meanwhile, by subject."""
    client = await nats.connect(cluster.servers("app"))
    calls: Counter[str] = Counter()

    async def note(message: Any) -> None:
        calls[json.loads(message.data)["subject"]] += 1

    await client.subscribe("$JS.EVENT.ADVISORY.API", cb=note)
    await client.flush()
    samples = await asyncio.to_thread(take_samples, cluster.url("app"))
    expected = sum(e.target.startswith("$JS.API") for sample in samples for e in sample.exchanges)
    for _ in range(100):  # advisories of other nodes come by way of routes
        if calls.total() >= expected:
            break
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.2)  # one too many would come late as well
    await client.close()
    return samples, calls


async def _six_r1(cluster: Cluster) -> dict[str, str]:
    client = await nats.connect(cluster.servers("app"))
    try:
        for number in range(6):
            await add_stream(client, f"R1-{number}", subjects=[f"r1.{number}"])
            await add_consumer(client, f"R1-{number}", "worker")
        return await leaders(client)
    finally:
        await client.close()


def _silent(samples: tuple[Sample, ...]) -> set[str]:
    """The names of the assets that no server answered for."""
    return {asset.subject.name for asset in seen(assemble(samples)).silent}


def _survivors(cluster: Cluster, victim: str) -> str:
    return ",".join(url for name, url in zip(cluster.names, cluster.servers("app"), strict=True) if name != victim)
