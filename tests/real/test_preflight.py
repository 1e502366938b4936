"""The verdict of a preflight, and what happens when the server is really stopped: no go may lose or stop anything."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.real.contexts import contexts
from tests.real.drill import Drill, Outcome, drilled
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.servers.deployments import HUB, do, formed, super_cluster
from tests.servers.landscape import Landscape, leaf_listener, leaf_remotes, routed, server
from tests.servers.natscli import run_printed
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.outage import peers_of, with_client

pytestmark = pytest.mark.real
Json = dict[str, Any]
GO, NO_GO, UNKNOWN = "go", "no_go", "unknown"
LIMITS = "max_memory_store: 512M\n  max_file_store: 4G"


@dataclass
class State:
    """A deployment. `arrange` brings it there and returns the servers to stop and what is watched meanwhile.

    `verdicts`: those that are right. `harms`: what an obstacle is about. `hurts`: whether the stop hurts; None: it may.
    """

    name: str
    arrange: Callable[[Cluster], tuple[list[str], Drill]]
    verdicts: tuple[str, ...]
    harms: frozenset[str]
    hurts: bool | None
    nodes: int
    always: bool
    end: Callable[[Cluster, str], None]
    options: dict[str, Any]


STATES: list[State] = []


def state(
    *verdicts: str,
    harms: str = "",
    hurts: bool | None = False,
    nodes: int = 3,
    always: bool = False,
    end: Callable[[Cluster, str], None] = Cluster.stop,
    **options: Any,
) -> Callable[[Callable[[Cluster], tuple[list[str], Drill]]], None]:
    def register(arrange: Callable[[Cluster], tuple[list[str], Drill]]) -> None:
        name = arrange.__name__
        STATES.append(State(name, arrange, verdicts, frozenset(harms.split()), hurts, nodes, always, end, options))

    return register


async def stored(client: Client, subject: str, payload: bytes) -> None:
    """Publish until the stream has it: a new leader, or one that is far away, needs a moment."""
    for _ in range(50):
        with contextlib.suppress(nats.errors.Error, TimeoutError):
            await client.request(subject, payload, timeout=10)
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{subject} was not stored")


async def filled(client: Client, stream: str, count: int = 50, size: int = 100, **config: Any) -> None:
    """A stream with messages, of its own name in lower case as the subject."""
    await add_stream(client, stream, subjects=[stream.lower()], **config)
    payload = b"x" * size
    for begin in range(0, count, 100):
        batch = range(begin, min(begin + 100, count))
        await asyncio.gather(*(stored(client, stream.lower(), payload) for _ in batch))


def planted(cluster: Cluster, work: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    return with_client(cluster, work)


def leader_of(cluster: Cluster, stream: str, consumer: str = "") -> str:
    subject = f"CONSUMER.INFO.{stream}.{consumer}" if consumer else f"STREAM.INFO.{stream}"

    async def ask(client: Client) -> str:
        return str((await api(client, subject))["cluster"].get("leader", ""))

    return str(wait_until(lambda: with_client(cluster, ask), f"a leader of {stream}", timeout=20))


def two(*streams: str, durable: str = "") -> Drill:
    """These streams, and a durable of the first."""
    return Drill({s: s.lower() for s in streams}, (f"{streams[0]}/{durable}",) if durable else ())


# Healthy


@state(GO, always=True)
def healthy(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3)
        await filled(client, "KV_config", num_replicas=3, max_msgs_per_subject=100)
        await add_consumer(client, "ORDERS", "bill", durable_name="bill", ack_policy="explicit")

    planted(cluster, plant)
    return [leader_of(cluster, "ORDERS")], two("ORDERS", durable="bill")


@state(GO)
def the_meta_leader(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    return [cluster.meta_leader() or ""], two("ORDERS")


@state(GO)
def in_memory(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "MEM", num_replicas=3, storage="memory"))
    return [leader_of(cluster, "MEM")], two("MEM")


@state(GO)
def work_queue(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "WORK", num_replicas=3, retention="workqueue")
        await add_consumer(client, "WORK", "w", durable_name="w", ack_policy="explicit")

    planted(cluster, plant)
    return [leader_of(cluster, "WORK", "w")], two("WORK", durable="w")


@state(GO)
def mirrored(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3)
        await add_stream(client, "COPY", mirror={"name": "ORDERS"}, num_replicas=3)

    planted(cluster, plant)
    return [leader_of(cluster, "ORDERS")], two("ORDERS")


@state(GO)
def consumer_in_memory_with_three_replicas(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3)
        await add_consumer(client, "ORDERS", "m", durable_name="m", ack_policy="explicit", mem_storage=True)

    planted(cluster, plant)
    return [leader_of(cluster, "ORDERS", "m")], two("ORDERS", durable="m")


@state(GO)
def single_copies_elsewhere(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3)
        await filled(client, "LOG")

    planted(cluster, plant)
    other = next(name for name in cluster.names if name != leader_of(cluster, "LOG"))
    return [other], two("ORDERS", "LOG")


@state(GO)
def ephemeral_reader(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> str:
        await filled(client, "ORDERS", num_replicas=3)
        config = {"ack_policy": "none", "deliver_subject": "nowhere", "inactive_threshold": 3_600_000_000_000}
        made = await api(client, "CONSUMER.CREATE.ORDERS", {"stream_name": "ORDERS", "config": config})
        return str(made["cluster"]["leader"])

    return [planted(cluster, plant)], two("ORDERS")


@state(GO, end=Cluster.kill)
def killed(cluster: Cluster) -> tuple[list[str], Drill]:
    return healthy_on(cluster, "file")


@state(GO, end=Cluster.kill)
def killed_in_memory(cluster: Cluster) -> tuple[list[str], Drill]:
    return healthy_on(cluster, "memory")


def healthy_on(cluster: Cluster, storage: str) -> tuple[list[str], Drill]:
    """A stream with a durable of which the leader fails, and the meta leader with it where it is the same server."""

    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3, storage=storage)
        await add_consumer(client, "ORDERS", "bill", durable_name="bill", ack_policy="explicit")

    planted(cluster, plant)
    return [leader_of(cluster, "ORDERS")], two("ORDERS", durable="bill")


# Single copies


@state(NO_GO, harms="unavailable", hurts=True)
def file_with_one_copy(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "LOG"))
    return [leader_of(cluster, "LOG")], two("LOG")


@state(NO_GO, harms="data_lost", hurts=True)
def memory_with_one_copy(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "CACHE", storage="memory"))
    return [leader_of(cluster, "CACHE")], two("CACHE")


@state(NO_GO, harms="unavailable", hurts=True)
def durable_with_one_copy(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3)
        await add_consumer(client, "ORDERS", "solo", durable_name="solo", ack_policy="explicit", num_replicas=1)

    planted(cluster, plant)
    return [leader_of(cluster, "ORDERS", "solo")], two("ORDERS", durable="solo")


@state(NO_GO, harms="unavailable", hurts=True)
def mirror_of_a_single_copy(cluster: Cluster) -> tuple[list[str], Drill]:
    async def plant(client: Client) -> None:
        await filled(client, "LOG")
        await add_stream(client, "COPY", mirror={"name": "LOG"}, num_replicas=3)

    planted(cluster, plant)
    return [leader_of(cluster, "LOG")], two("LOG")


@state(NO_GO, harms="quorum_lost", hurts=True)
def two_replicas(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "PAIR", num_replicas=2))
    return [leader_of(cluster, "PAIR")], two("PAIR")


# A server is gone already


@state(NO_GO, harms="quorum_lost", hurts=True, always=True)
def one_has_just_stopped(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    cluster.stop("n3")
    return ["n2"], two("ORDERS")


@state(NO_GO, harms="quorum_lost", hurts=True)
def one_was_killed_long_ago(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    cluster.kill("n3")
    time.sleep(15)  # past the time after which servers report it as offline
    return ["n2"], two("ORDERS")


@state(NO_GO, harms="quorum_lost", hurts=True)
def only_the_meta_group_has_members(cluster: Cluster) -> tuple[list[str], Drill]:
    cluster.stop("n3")
    return ["n2"], Drill()


@state(NO_GO, harms="quorum_lost", hurts=True)
def two_at_once(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    return ["n1", "n2"], two("ORDERS")


@state(GO, UNKNOWN, NO_GO, hurts=None)
def one_does_not_respond(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    cluster.pause("n3")
    return ["n2"], two("ORDERS")


# A member is behind


def _restarted(cluster: Cluster, stream: str, *names: str) -> None:
    for name in names:
        cluster.stop(name)
        cluster.start(name, wait=False)


@state(NO_GO, UNKNOWN, GO, hurts=None)
def restarted_and_behind(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    cluster.stop("n3")

    async def more(client: Client) -> None:
        payload = b"x" * 50_000
        for _ in range(40):
            await asyncio.gather(*(stored(client, "orders", payload) for _ in range(50)))

    planted(cluster, more)
    leader = leader_of(cluster, "ORDERS")
    cluster.start("n3", wait=False)
    return [leader], two("ORDERS")


@state(NO_GO, UNKNOWN, GO, hurts=None)
def memory_after_fast_restarts(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "MEM", count=4_000, size=50_000, num_replicas=3, storage="memory"))
    _restarted(cluster, "MEM", "n1", "n2")
    return ["n3"], two("MEM")


@state(GO, hurts=False)
def memory_after_slow_restarts(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "MEM", count=400, size=1_000, num_replicas=3, storage="memory"))
    for name in ("n1", "n2"):
        cluster.stop(name)
        cluster.start(name)
        wait_until(lambda: _is_whole(cluster, "MEM", 400), "all copies of MEM", timeout=60)
    return ["n3"], two("MEM")


def _is_whole(cluster: Cluster, stream: str, messages: int) -> bool:
    peers = peers_of(cluster, stream)
    return (
        len(peers) == 2
        and all(peer["current"] for peer in peers.values())
        and _copies(cluster, stream) == [messages] * 3
    )


def _copies(cluster: Cluster, stream: str) -> list[int]:
    return [
        detail["state"]["messages"]
        for name in cluster.names
        for account in cluster.monitor(name, "/jsz?accounts=true&streams=true").get("account_details") or []
        for detail in account.get("stream_detail") or []
        if detail["name"] == stream
    ]


# Five servers


@state(GO, nodes=5)
def five_replicas_and_one_gone(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=5))
    cluster.stop("n5")
    time.sleep(12)
    return ["n2"], two("ORDERS")


@state(NO_GO, harms="quorum_lost", hurts=True, nodes=5)
def five_replicas_and_two_gone(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=5))
    cluster.stop("n5")
    cluster.stop("n4")
    time.sleep(12)
    return ["n2"], two("ORDERS")


@state(GO, nodes=5)
def a_server_without_streams_is_gone(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    leader = leader_of(cluster, "ORDERS")
    members = {leader, *peers_of(cluster, "ORDERS")}
    cluster.stop(next(name for name in cluster.names if name not in members))
    time.sleep(12)
    return [leader], two("ORDERS")


@state(NO_GO, harms="quorum_lost", hurts=True, nodes=5)
def a_zone_has_two_of_three_copies(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=3))
    leader = leader_of(cluster, "ORDERS")
    return [leader, next(iter(peers_of(cluster, "ORDERS")))], two("ORDERS")


@state(GO, nodes=5)
def two_of_five_with_five_replicas(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "ORDERS", num_replicas=5))
    leader = leader_of(cluster, "ORDERS")
    return [leader, next(iter(peers_of(cluster, "ORDERS")))], two("ORDERS")


# One server


@state(NO_GO, harms="unavailable", hurts=None, nodes=1)
def one_server(cluster: Cluster) -> tuple[list[str], Drill]:
    planted(cluster, lambda client: filled(client, "LOG"))
    return ["n1"], two("LOG")


def judged(directory: Path, url: str, names: Sequence[str]) -> Json:
    """The document of a preflight, whose exit code says the same."""
    words = [word for name in names for word in ("--without", name)]
    done = jsdoctor("preflight", "-s", url, "--isolated", "--format", "json", *words, cwd=directory)
    document: Json = json.loads(done.stdout)
    assert done.returncode == {GO: 0, NO_GO: 1, UNKNOWN: 3}[document["verdict"]]
    return document


def described(name: str, version: str, document: Json, outcome: Outcome) -> str:
    """The verdict beside what happened, as a row of a table."""
    harms = ", ".join(sorted({obstacle["harm"] for obstacle in document["results"][0]["obstacles"]}))
    longest = max(outcome.pauses.values(), default=0.0)
    stopped, lost = ", ".join(sorted(outcome.stopped)) or "-", sum(outcome.lost.values()) or "-"
    return f"| {name} | {version} | {document['verdict']} | {harms or '-'} | {stopped} | {longest:.1f} s | {lost} |"


CASES = [
    pytest.param(s, version, id=f"{s.name}-{version}", marks=[] if s.always else [pytest.mark.nightly])
    for s in STATES
    for version in VERSIONS
]


@pytest.mark.parametrize(("case", "version"), CASES)
def test_no_go_hurts_and_go_does_not(
    cluster_factory: ClusterFactory, case: State, version: str, tmp_path: Path
) -> None:
    cluster = cluster_factory(version, case.nodes, jetstream=LIMITS, **case.options)
    names, drill = case.arrange(cluster)
    document = judged(tmp_path, cluster.url("sys"), names)
    (result,), verdict = document["results"], document["verdict"]
    stay = [
        url
        for name, url in zip(cluster.names, cluster.servers(), strict=True)
        if name not in names and cluster.node(name).running
    ]
    if not stay:  # nobody could use it meanwhile
        assert verdict == NO_GO
        return
    paused = [name for name in cluster.names if cluster.node(name).running and name in cluster._paused]

    def stop() -> None:
        for name in names:
            case.end(cluster, name)

    def back() -> None:
        for name in paused:
            cluster.resume(name)
        for name in cluster.names:
            if not cluster.node(name).running:
                cluster.start(name, wait=False)
        cluster.wait_ready()

    outcome = asyncio.run(drilled([url for url in stay if url], drill, stop, back))
    line = described(case.name, version, document, outcome)
    sys.stdout.write(f"{line}\n")  # -rP shows it as the row of a table
    assert not (verdict == GO and outcome.hurt), line
    assert verdict in case.verdicts, f"{line}: {result}"
    assert case.harms <= {obstacle["harm"] for obstacle in result["obstacles"]}, line
    assert case.hurts in (None, outcome.hurt), line


# Leaf nodes and gateways


@dataclass
class Links:
    """Servers connected by more than routes. `form` returns the servers to stop, where clients are, what is watched."""

    name: str
    form: Callable[[Landscape], tuple[list[str], list[str], Drill]]
    verdict: str
    harms: frozenset[str]
    hurts: bool


LINKS: list[Links] = []


def linked(verdict: str, harms: str = "", *, hurts: bool) -> Callable[[Callable[..., Any]], None]:
    def register(form: Callable[[Landscape], tuple[list[str], list[str], Drill]]) -> None:
        LINKS.append(Links(form.__name__, form, verdict, frozenset(harms.split()), hurts))

    return register


def _hub(land: Landscape, listening: list[str]) -> list[str]:
    """A hub with its stream, and a site without JetStream whose clients publish to it."""

    def config(key: str) -> str:
        return server(key) + routed(land, "HUB", key, HUB) + (leaf_listener(land, key) if key in listening else "")

    formed(land, config, HUB)
    land.start("site", server("site", storage=False) + leaf_remotes(land, listening))
    land.wait_leafs("site", 2)
    do(land.url(*HUB), lambda client: filled(client, "ORDERS", num_replicas=3))
    return [leaf["name"] for leaf in land.monitor("site", "/leafz")["leafs"]]


@linked(GO, hurts=False)
def a_site_can_reach_another_hub_server(land: Landscape) -> tuple[list[str], list[str], Drill]:
    return _hub(land, HUB)[:1], ["site"], Drill({"ORDERS": "orders"}, creates=False)


@linked(NO_GO, "cut_off", hurts=True)
def a_site_has_one_hub_server(land: Landscape) -> tuple[list[str], list[str], Drill]:
    _hub(land, ["h2"])
    return ["h2"], ["site"], Drill({"ORDERS": "orders"}, creates=False)


@linked(GO, hurts=False)
def a_cluster_of_a_super_cluster(land: Landscape) -> tuple[list[str], list[str], Drill]:
    super_cluster(land, ("west", "east"), size=3)
    placed: Json = {"num_replicas": 3, "placement": {"cluster": "west"}}
    do(land.url("west1"), lambda client: filled(client, "ORDERS", **placed))
    return ["west1"], ["east1", "east2"], Drill({"ORDERS": "orders"})


@linked(NO_GO, "unavailable", hurts=True)
def a_cluster_with_the_only_copy(land: Landscape) -> tuple[list[str], list[str], Drill]:
    super_cluster(land)
    do(land.url("west1"), lambda client: filled(client, "LOG", placement={"cluster": "east"}))
    return ["east1"], ["west1"], Drill({"LOG": "log"})


@linked(GO, hurts=False)
def a_cluster_without_streams(land: Landscape) -> tuple[list[str], list[str], Drill]:
    super_cluster(land)
    do(land.url("west1"), lambda client: filled(client, "LOG", placement={"cluster": "west"}))
    return ["east1"], ["west1"], Drill({"LOG": "log"})


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", LINKS, ids=lambda case: case.name)
def test_links(case: Links, version: str, tmp_path: Path) -> None:
    with Landscape(tmp_path / "servers", version) as land:
        names, clients, drill = case.form(land)
        document = judged(tmp_path, land.url(user="sys"), names)

        def stop() -> None:
            for name in names:
                land.node(name).stop()

        def back() -> None:
            for name in names:
                land.again(name)
            for name in names:
                land.wait_for(lambda name=name: bool(land.monitor(name, "/healthz")), f"{name} to be healthy")  # type: ignore[misc]

        every = [url for url in land.url().split(",") if "site" not in clients or url not in land.url("site")]
        outcome = asyncio.run(drilled(land.url(*clients).split(","), drill, stop, back, every))
        line = described(case.name, version, document, outcome)
        sys.stdout.write(f"{line}\n")  # -rP shows it as the row of a table
        assert not (document["verdict"] == GO and outcome.hurt), line
        assert document["verdict"] == case.verdict, f"{line}: {document['results']}"
        assert case.harms <= {obstacle["harm"] for obstacle in document["results"][0]["obstacles"]}, line
        assert outcome.hurt is case.hurts, line


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_clients_without_room(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    def limited(name: str) -> str:
        return f"max_connections: {20 if name == 'n2' else 4}\n"

    cluster = cluster_factory(version, 3, node_config=limited)

    async def stays() -> tuple[Json, int]:
        own = {"max_reconnect_attempts": -1, "connect_timeout": 2, "reconnect_time_wait": 0.2}
        first = cluster.servers()[1]
        clients = [await nats.connect([first], **own, error_cb=_ignored) for _ in range(12)]
        document = await asyncio.to_thread(judged, tmp_path, cluster.url("sys"), ["n2"])
        await asyncio.to_thread(cluster.stop, "n2")
        await asyncio.sleep(10)
        connected = sum(client.is_connected for client in clients)
        await asyncio.gather(*(client.close() for client in clients))
        return document, connected

    document, connected = asyncio.run(stays())
    assert document["verdict"] == NO_GO
    assert [obstacle["harm"] for obstacle in document["results"][0]["obstacles"]] == ["no_room"]
    assert connected < 12


async def _ignored(_: Exception) -> None:
    """A connection that is refused is what is counted."""


# What becomes of copies on a server that never comes back

ZONES = {"n1": '"az:1"', "n2": '"az:2"', "n3": '"az:3"', "n4": '"az:3"'}
UNIQUE = ", unique_tag: az"
DISKS = {"n1": "disk", "n2": "disk", "n3": "disk", "n4": "spare"}


async def in_zones(client: Client) -> None:
    await add_stream(client, "ZONED", subjects=["zoned"], num_replicas=3)


async def on_disks(client: Client) -> None:
    await add_stream(client, "FILL", subjects=["fill"], max_bytes=150_000_000, placement={"tags": ["spare"]})
    await add_stream(client, "BIG", subjects=["big"], num_replicas=3, max_bytes=100_000_000)
    await add_stream(client, "TAGGED", subjects=["tagged"], num_replicas=3, placement={"tags": ["disk"]})
    await add_stream(client, "MEM", subjects=["mem"], num_replicas=3, max_bytes=40_000_000, storage="memory")
    await add_stream(client, "FREE", subjects=["free"], num_replicas=3)


@dataclass
class Removal:
    """One of these servers is removed. `not_replaced`: the streams that get no other replica, and why."""

    plant: Callable[[Client], Coroutine[Any, Any, Any]]
    tags: dict[str, str]
    servers: tuple[str, ...]
    not_replaced: dict[str, str]
    unique: str = ""


REMOVALS = {
    "zone": Removal(in_zones, ZONES, ("n1",), {"ZONED": "unique_tag az:3 is taken"}, UNIQUE),
    "same-zone": Removal(in_zones, ZONES, ("n3", "n4"), {}, UNIQUE),
    "disk": Removal(
        on_disks,
        DISKS,
        ("n1",),
        {"BIG": "n4: 50,000,000 bytes left for max_bytes 100,000,000", "TAGGED": "n4: no tag disk"},
    ),
}


@pytest.mark.parametrize(
    "version", [*VERSIONS[-1:], *(pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS[:-1])]
)
@pytest.mark.parametrize("case", REMOVALS.values(), ids=REMOVALS)
def test_replicas_of_a_server_that_is_removed(
    cluster_factory: ClusterFactory, version: str, case: Removal, tmp_path: Path
) -> None:
    """It is stopped and removed from the meta group: what was named keeps two replicas, the rest gets a third again."""
    limits = f"max_memory_store: 50M, max_file_store: 200M{case.unique}"
    cluster = cluster_factory(
        version, nodes=4, jetstream=limits, node_config=lambda node: f"server_tags: [{case.tags[node]}]\n"
    )
    with_client(cluster, case.plant)
    held = held_by(cluster)
    name = next(n for n in case.servers if any(n in members for members in held.values()))
    words = ("preflight", "--without", name, "-s", cluster.url("sys"), "--isolated", "--format", "json")
    effects = json.loads(jsdoctor(*words, cwd=tmp_path).stdout)["results"][0]["effects"]
    effect = next((each for each in effects if each["kind"] == "copies_not_replaced"), {"names": [], "message": ""})
    named = {label.removeprefix("APP > ") for label in effect["names"]}
    assert named == {stream for stream in case.not_replaced if name in held[stream]}
    assert all(case.not_replaced[stream] in effect["message"] for stream in named)
    cluster.stop(name)
    wait_until(lambda: is_removed(cluster, name), f"{name} is removed", timeout=30)
    wait_until(lambda: meta_sizes(cluster) == {3}, "the meta group has three members", timeout=30)
    with_client(cluster, lambda client: add_stream(client, "AFTER", subjects=["after"]))
    wanted = {stream: 2 if stream in named else len(members) for stream, members in held.items()} | {"AFTER": 1}
    wait_until(lambda: replaced(cluster, name) == wanted, f"streams have {wanted}", timeout=40)


def meta_sizes(cluster: Cluster) -> set[int]:
    running = [name for name in cluster.names if cluster.node(name).running]
    return {cluster.monitor(name, "/jsz")["meta_cluster"]["cluster_size"] for name in running}


def is_removed(cluster: Cluster, name: str) -> bool:
    """Whether the meta leader removed the server, once it has noticed that it is gone."""

    async def remove(client: Client) -> bool:
        with contextlib.suppress(nats.errors.Error, TimeoutError):
            reply = await client.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": name}).encode(), timeout=2)
            return bool(json.loads(reply.data).get("success"))
        return False

    return with_client(cluster, remove, user="sys")


def replaced(cluster: Cluster, name: str) -> dict[str, int]:
    return {stream: len(members - {name}) for stream, members in held_by(cluster).items()}


def held_by(cluster: Cluster) -> dict[str, set[str]]:
    """The servers that have each stream, as its leader reports them; without those that it lost."""

    async def infos(client: Client) -> list[Json]:
        return list((await api(client, "STREAM.LIST"))["streams"])

    clusters = {info["config"]["name"]: info["cluster"] for info in with_client(cluster, infos)}
    return {
        name: {group.get("leader", ""), *(peer["name"] for peer in group.get("replicas") or ())} - {""}
        for name, group in clusters.items()
    }


# What it prints, and what it is for


def test_the_printed_commands_lead_to_a_go(cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=3)

    async def plant(client: Client) -> None:
        await filled(client, "ORDERS", num_replicas=3)
        await filled(client, "LOG")
        await filled(client, "KV_one", max_msgs_per_subject=1)
        await filled(client, "PAIR", num_replicas=2)
        await add_consumer(client, "ORDERS", "solo", durable_name="solo", ack_policy="explicit", num_replicas=1)

    with_client(cluster, plant)
    with contexts(cluster, "sys", "app", at=tmp_path / "config") as logins:
        words = ["preflight", "--each", "--isolated", "--format", "json", *logins]
    document = json.loads(jsdoctor(*words, cwd=tmp_path).stdout)
    obstacles = [obstacle for result in document["results"] for obstacle in result["obstacles"]]
    commands = {command for obstacle in obstacles for command in obstacle["commands"]}
    assert len(commands) == 4
    for command in sorted(commands):
        assert command.startswith("nats --context app ")
        done = run_printed(nats_cli, command, XDG_CONFIG_HOME=str(tmp_path / "config"), NATS_URL="")
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    after = json.loads(jsdoctor(*words, "--wait", "60s", cwd=tmp_path, timeout=120).stdout)
    assert after["verdict"] == GO, after["results"]


def test_a_rolling_restart_that_waits_for_a_go_loses_nothing(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=3, jetstream=LIMITS)
    with_client(cluster, lambda client: filled(client, "MEM", 4_000, 50_000, num_replicas=3, storage="memory"))
    for name in cluster.names:
        options = ("-s", cluster.url("sys"), "--isolated", "--without", name, "--wait", "2m")
        done = jsdoctor("preflight", *options, cwd=tmp_path, timeout=180)
        assert done.returncode == 0, done.stdout
        cluster.stop(name)
        cluster.start(name, wait=False)

    async def messages(client: Client) -> int:
        return int((await api(client, "STREAM.INFO.MEM"))["state"]["messages"])

    cluster.wait_ready()
    assert with_client(cluster, messages) == 4_000
