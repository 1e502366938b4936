"""Collection through the system account, on real servers."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import nats
import pytest

from jsdoctor.demo.server import free_ports
from jsdoctor.model.exchange import Sample
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.trend import Trend
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.servers.ask import Asker
from jsdoctor.sources.servers.collection_result import CollectionResult
from jsdoctor.sources.servers.system import SystemSource, find_servers
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.sources.conftest import StartServer
from tests.sources.looking import (
    NET_S,
    NIGHTLY_UNLESS_DEFAULT,
    NOTHING,
    ONCE,
    PLAN,
    asked,
    bodies,
    changing,
    connected,
    everything,
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
def test_a_healthy_deployment_is_seen_whole(shared_cluster: ClusterFactory, server_version: str, nodes: int) -> None:
    cluster = furnished(shared_cluster, server_version, nodes)
    first, second = samples = take_samples(cluster.url("sys"))
    assert asked(first) == {"CONNECT": 1} | everything(nodes)
    assert asked(second) == changing(nodes) | {"SUBSZ": 1}
    assert gaps(samples) == []
    evidence = assemble(samples)
    by_name = streams(samples)
    assert {stream["name"] for stream in furniture(nodes)} <= by_name.keys()
    assert all(stream.from_leader and stream.consumers_seen for stream in by_name.values())
    assert all(consumer.from_leader for stream in by_name.values() for consumer in stream.consumers)
    assert len(by_name["ORDERS"].replicas) == nodes
    servers, trend = evidence.get(Servers), evidence.get(Trend)
    assert servers is not None
    assert trend is not None
    assert [server.name for server in servers.servers] == cluster.names
    assert all(s.varz and s.jetstream and s.health and s.version == server_version for s in servers.servers)
    assert len(list(trend.streams())) == len(by_name)


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_no_groups_are_requested_of_a_server_that_switched_jetstream_off(
    cluster_factory: ClusterFactory, version: str
) -> None:
    """A server of 2.11 that did so because of a full disk would respond to nothing any more."""
    cluster = furnished(cluster_factory, version, 3)
    removed = next(name for name in cluster.names if name != cluster.meta_leader())
    others = sorted(set(cluster.names) - {removed})
    requested: set[tuple[str, str]] = set()

    async def main() -> tuple[Sample, ...]:
        client = await nats.connect(cluster.servers("sys"))

        async def note(message: Any) -> None:
            options = msgspec.json.decode(message.data)
            assert options["exact_match"] is True
            requested.add((options.get("account", ""), options["server_name"]))

        await client.request("$JS.API.SERVER.REMOVE", msgspec.json.encode({"peer": removed}), timeout=10)
        await asyncio.to_thread(
            wait_until, lambda: cluster.monitor(removed, "/jsz").get("disabled"), "JetStream to be switched off"
        )
        await client.subscribe("$SYS.REQ.SERVER.PING.RAFTZ", cb=note)
        await client.flush()
        samples = await asyncio.to_thread(take_samples, cluster.url("sys"))
        await asyncio.sleep(0.5)  # what other servers received comes over routes
        await client.close()
        return samples

    samples = asyncio.run(main())
    assert {name for _, name in requested} == set(others)
    assert [asked(sample)["RAFTZ"] for sample in samples] == [len(requested)] * 2
    assert "" in {account for account, _ in requested}
    assert "APP" in {account for account, _ in requested}


def test_no_jetstream_api_is_called(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster)

    async def main() -> list[Any]:
        calls: list[Any] = []
        client = await nats.connect(cluster.servers("sys"))

        async def note(message: Any) -> None:
            calls.append(message.subject)

        await client.subscribe("$JS.>", cb=note)
        await client.flush()
        await asyncio.to_thread(take_samples, cluster.url("sys"))
        await client.flush()
        await client.close()
        return calls

    assert asyncio.run(main()) == []


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_a_killed_server_is_a_gap_and_is_not_waited_for(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, nodes=3)
    victim, led = _plant(cluster)
    cluster.kill(victim)
    # A timeout longer than the net: waiting for the dead one even once would be caught in it.
    samples = take_samples(_survivors(cluster, victim), plan=_patient(2 * NET_S))
    assert ("server", victim) in missing(samples)
    assert [asked(sample)["JSZ"] for sample in samples] == [2, 2]
    by_name = streams(samples)
    assert by_name.keys() == {name for name, leader in led.items() if leader != victim}
    assert all(stream.from_leader for stream in by_name.values())


def test_the_dead_meta_leader_of_2_10_is_counted_where_nobody_names_it(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory("2.10.26", nodes=3)
    leader = cluster.meta_leader()
    assert leader is not None
    cluster.kill(leader)
    samples = take_samples(_survivors(cluster, leader), plan=ONCE)
    assert "server" in {kind for kind, _ in missing(samples)}


def test_a_server_that_falls_silent_costs_its_timeout_once(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    url = cluster.servers("sys")[0]

    async def use(connection: Connection) -> list[CollectionResult]:
        asker = Asker(connection, 1.0)
        source = SystemSource(asker, await find_servers(asker), PLAN)
        collections = [await source.sample()]
        cluster.pause("n3")
        collections.append(await source.sample())
        asker.timeout_s = 2 * NET_S
        collections.append(await source.sample())
        assert not source.exhausted
        return collections

    try:
        whole, first, second = asyncio.run(asyncio.wait_for(connected(url, use), NET_S))
    finally:
        cluster.resume("n3")
    assert (_endpoints(whole)["JSZ"], whole.gaps) == (3, [])
    assert {gap.subject.name for gap in first.gaps} == {"n3"}
    assert _endpoints(first)["JSZ"] == _endpoints(second)["JSZ"] == 2
    assert second.gaps == []


def _endpoints(collection: CollectionResult) -> Counter[str]:
    return Counter(exchange.endpoint.value for exchange in collection.exchanges)


def test_a_silent_server_with_routes_up_is_a_gap(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    cluster.pause("n3")
    samples = take_samples(cluster.servers("sys")[0], plan=_patient(2 * NET_S, samples=1))
    assert missing(samples) == [("server", "n3")]


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_without_quorum_nothing_is_judged_and_nothing_hangs(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, nodes=3)
    leader = asyncio.run(_r3_leader(cluster))
    survivor = next(name for name in cluster.names if name != leader)
    lost = set(cluster.names) - {survivor}
    for name in lost:
        cluster.kill(name)
    samples = take_samples(cluster.servers("sys")[cluster.names.index(survivor)], plan=_patient(2 * NET_S))
    absent = missing(samples)
    assert {("server", name) for name in lost} <= set(absent) or ("server", "cluster") in absent
    stream = streams(samples)["R3"]
    assert not stream.from_leader
    assert not stream.has_leader or ("stream", "APP > R3") in absent


def test_replies_larger_than_a_megabyte_arrive(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()

    async def fill() -> None:
        client = await nats.connect(cluster.servers("app"))
        for number in range(12):
            await add_stream(client, f"BIG{number}", storage="memory", metadata={"note": "x" * 100_000})
        await client.close()

    asyncio.run(fill())
    samples = take_samples(cluster.url("sys"), plan=ONCE)
    assert max(len(exchange.body) for exchange in samples[0].exchanges) > 1 << 20
    assert gaps(samples) == []
    assert len(streams(samples)) == 12


def test_more_accounts_than_a_page_holds(start_server: StartServer, server_version: str, tmp_path: Path) -> None:
    names = [f"A{number:04d}" for number in range(1100)]  # the default page has 1,024, on 2.10 in random order
    accounts = "\n".join(
        f"{name}: {{ users: [{{ user: {name}, password: x }}], jetstream: enabled }}" for name in names
    )
    system = "SYS: { users: [{ user: sys, password: sys }] }"
    config = f"jetstream: {{ store_dir: '{tmp_path}' }}\nsystem_account: SYS\naccounts {{\n{system}\n{accounts}\n}}\n"
    server = start_server(f'http: "127.0.0.1:-1"\n{config}', version=server_version)
    for source in (f"nats://sys:sys@127.0.0.1:{server.port}", f"http://127.0.0.1:{server.ports['monitoring']}"):
        with_login = source.startswith("nats")
        samples = take_samples(source if with_login else None, () if with_login else [source], ONCE)
        assert asked(samples[0])["JSZ"] == 1
        accounts_seen = assemble(samples).get(Accounts)
        assert accounts_seen is not None
        assert [account.name for account in accounts_seen.accounts] == names


def test_only_what_the_plan_wants_is_requested(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster)
    plan = msgspec.structs.replace(NOTHING, accounts=True, keep_bodies=True)
    (sample,) = take_samples(cluster.url("sys"), plan=plan)
    assert asked(sample) == {"CONNECT": 1, "JSZ": 1}
    (reply,) = bodies(sample, "JSZ")
    assert "stream_detail" not in reply["data"]["account_details"][0]
    (sample,) = take_samples(cluster.url("sys"), plan=type(PLAN)(samples=1, consumers=False))
    (reply,) = bodies(sample, "JSZ")
    shown = {stream["name"]: stream for stream in reply["data"]["account_details"][0]["stream_detail"]}
    assert "consumer_detail" not in shown["ORDERS"]
    assert not streams([sample])["ORDERS"].consumers_seen


def test_streams_of_the_same_name_in_two_domains_are_not_one(start_server: StartServer, tmp_path: Path) -> None:
    """Over a leaf node the system account reaches both domains; what is there twice is no pair of replicas."""
    (port,) = free_ports(1)
    accounts = (
        "system_account: SYS\naccounts: { SYS: { users: [{user: sys, password: sys}] },"
        " APP: { users: [{user: app, password: app}], jetstream: on } }\n"
    )
    remotes = ", ".join(
        f"{{ url: 'nats-leaf://{user}:{user}@127.0.0.1:{port}', account: {user.upper()} }}" for user in ("sys", "app")
    )
    leafnodes = {"hub": f"listen: '127.0.0.1:{port}'", "leaf": f"remotes: [{remotes}]"}

    async def main() -> tuple[Sample, ...]:
        servers = {}
        for name, how in leafnodes.items():
            store = f"jetstream: {{ store_dir: '{tmp_path}/{name}', domain: {name} }}"
            servers[name] = start_server(f"server_name: {name}\n{store}\n{accounts}leafnodes: {{ {how} }}\n")
            client = await nats.connect(f"nats://app:app@127.0.0.1:{servers[name].port}")
            await add_stream(client, "ORDERS", subjects=["orders"], storage="memory")
            for _ in range(3 if name == "hub" else 1):
                await client.publish("orders", b"x")  # the streams differ, as replicas must not
            await client.flush()
            await client.close()
        url = f"nats://sys:sys@127.0.0.1:{servers['hub'].port}"
        samples: tuple[Sample, ...] = ()
        for _ in range(100):  # the leaf connects in its own time
            samples = await asyncio.to_thread(take_samples, url, (), ONCE)
            if asked(samples[0])["JSZ"] == 2:
                break
            await asyncio.sleep(0.1)
        return samples

    samples = asyncio.run(main())
    assert asked(samples[0])["JSZ"] == 2
    assembled = seen(assemble(samples)).streams
    assert [(stream.account, stream.answered_by) for stream in assembled] == [("APP@hub", "hub"), ("APP@leaf", "leaf")]
    assert all(len(stream.replicas) == 1 for stream in assembled)
    assert missing(samples) == []


def _patient(timeout_s: float, samples: int = 2) -> Any:
    return type(PLAN)(samples=samples, interval_s=0.1, timeout_s=timeout_s)


def _survivors(cluster: Cluster, victim: str) -> str:
    return ",".join(url for name, url in zip(cluster.names, cluster.servers("sys"), strict=True) if name != victim)


def _plant(cluster: Cluster) -> tuple[str, dict[str, str]]:
    """R1 streams until some server other than the meta leader leads one; that server, and who leads what."""

    async def plant() -> dict[str, str]:
        client = await nats.connect(cluster.servers("app"))
        for number in range(6):
            await add_stream(client, f"R1-{number}", subjects=[f"r1.{number}"])
            await add_consumer(client, f"R1-{number}", "worker")
        led = await leaders(client)
        await client.close()
        return led

    led = asyncio.run(plant())
    meta = cluster.meta_leader()
    return next(leader for leader in led.values() if leader != meta), led


async def _r3_leader(cluster: Cluster) -> str:
    client = await nats.connect(cluster.servers("app"))
    await add_stream(client, "R3", subjects=["r3.>"], num_replicas=3)
    led = await leaders(client)
    await client.close()
    return led["R3"]
