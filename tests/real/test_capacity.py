"""`jsdoctor capacity` on real servers: its figures, its verdict about room, and the time at which streams are full."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.cli.invoke import jsdoctor_warm
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.outage import with_client
from tests.support.reports import Json

pytestmark = pytest.mark.real
MB = 1_000_000
NEWEST_FIRST = [*VERSIONS[-1:], *(pytest.param(version, marks=pytest.mark.nightly) for version in VERSIONS[:-1])]
SMALLER = "jetstream { store_dir: store, max_memory_store: 256M, max_file_store: 300M }\n"
LIMITS = "max_memory_store: 256M\n  max_file_store: 1G"


def shown(cluster: Cluster, tmp_path: Path, *more: str, user: str = "sys") -> tuple[int, Json]:
    arguments = ("capacity", "--isolated", "-s", cluster.url(user), "--format", "json", *more)
    done = jsdoctor_warm(*arguments, cwd=tmp_path)
    assert done.returncode in (0, 1, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


def figures(document: Json, storage: str = "file") -> dict[str, dict[str, Any]]:
    return {
        space["subject"].get("account") or space["subject"]["name"]: {f["name"]: f["value"] for f in space["figures"]}
        for space in document["spaces"]
        if space["storage"] == storage
    }


async def plant(client: Client, replicas: int) -> None:
    await add_stream(client, "BOUNDED", subjects=["bounded"], max_bytes=20 * MB, num_replicas=replicas)
    await add_stream(client, "OPEN", subjects=["open"], num_replicas=1)
    await add_stream(client, "MEMORY", subjects=["memory"], storage="memory", max_bytes=MB)
    await add_consumer(client, "OPEN", "reader")
    for subject, count in (("bounded", 30), ("open", 20), ("memory", 10)):
        for _ in range(count):
            await client.request(subject, b"x" * 500, timeout=10)


@pytest.mark.parametrize("version", NEWEST_FIRST)
@pytest.mark.parametrize("nodes", [1, 3])
def test_every_figure_is_what_a_server_reports(
    cluster_factory: ClusterFactory, version: str, nodes: int, tmp_path: Path
) -> None:
    cluster = cluster_factory(version, nodes, jetstream=LIMITS)
    with_client(cluster, lambda client: plant(client, nodes))

    def settled() -> bool:
        """Every copy has every message, and every server knows what the account uses on the others."""
        details = [_account(cluster, name) for name in cluster.names]
        used = {detail["storage"] for detail in details} | {_state(cluster, "n1", "BOUNDED").get("bytes", 0) * nodes}
        copies = [_state(cluster, name, "BOUNDED").get("messages") for name in cluster.names]
        return set(copies) == {30} and len(used) == 2 and max(used) - min(used) == opened

    opened = with_client(cluster, lambda client: api(client, "STREAM.INFO.OPEN"))["state"]["bytes"]
    wait_until(settled, "servers that agree on what is stored", timeout=30)
    code, document = shown(cluster, tmp_path, "--samples", "2", "--interval", "1s")
    assert code == 0
    space = figures(document)
    for name in cluster.names:
        jsz, own = cluster.monitor(name, "/jsz"), space[name]
        assert (own["limit"], own["reserved"], own["used"]) == (
            *(jsz["config"]["max_storage"], jsz["reserved_storage"], jsz["storage"]),
        )
        assert own["used"] == own["streams"], "what a server counts is what its copies hold"
        accounts = (cluster.monitor(name, f"/raftz{query}") for query in ("", "?acc=APP") if nodes > 1)
        groups = [group for each in accounts for account in each.values() for group in account.values()]
        assert own["$SYS"] == sum(group["wal"]["bytes"] for group in groups)
        memory = figures(document, "memory").get(name, {"reserved": 0, "used": 0})
        assert (memory["reserved"], memory["used"]) == (jsz["reserved_memory"], jsz["memory"])
    info = with_client(cluster, lambda client: api(client, "INFO"))
    states = [with_client(cluster, partial(api, subject=f"STREAM.INFO.{name}")) for name in ("BOUNDED", "OPEN")]
    assert space["APP"]["used"] == info["storage"] == space["APP"]["streams"]
    assert space["APP"]["used"] == sum(s["state"]["bytes"] * s["config"]["num_replicas"] for s in states)
    assert space["APP"]["reserved"] == 20 * MB * nodes
    head = {row["subject"]["name"]: {f["name"]: f["value"] for f in row["figures"]} for row in document["headroom"]}
    assert all(head[name]["HA assets"] == cluster.monitor(name, "/jsz")["ha_assets"] for name in cluster.names)
    assert head["OPEN"]["consumers"] == 1
    assert {gap["reason"] for gap in document["unseen"]} == {"disk free"}


def _account(cluster: Cluster, node: str) -> Json:
    details = cluster.monitor(node, "/jsz?accounts=true&streams=true").get("account_details") or []
    return next((detail for detail in details if detail["name"] == "APP"), {"storage": 0})


def _state(cluster: Cluster, node: str, stream: str) -> Json:
    details = _account(cluster, node).get("stream_detail") or []
    return next((detail["state"] for detail in details if detail["name"] == stream), {})


class _Reports:
    """What servers of a cluster last told each other to have reserved: what the meta leader places streams by.

    Each sends one when that changes, and no more than one a second. `system` is connected to the meta leader, which
    takes reports and requests about itself from one queue: its VARZ comes after what was reported before.
    """

    def __init__(self, cluster: Cluster, system: Client, figure: str) -> None:
        self._figure = figure
        self.reserved = {name: cluster.monitor(name, "/jsz")[figure] for name in cluster.names}
        self._single = len(cluster.names) == 1
        self._system = system
        self._placing = f"$SYS.REQ.SERVER.{system._server_info['server_id']}.VARZ"

    async def take(self, message: Msg) -> None:
        report = json.loads(message.data)
        self.reserved[report["server"]["name"]] = report["statsz"]["jetstream"]["stats"][self._figure]

    async def show(self, total: int) -> None:
        for _ in range(0 if self._single else 400):
            if sum(self.reserved.values()) == total:
                await self._system.request(self._placing, timeout=10)
                return
            await asyncio.sleep(0.05)
        assert self._single, (self.reserved, total)


async def _create(client: Client, config: Json) -> int:
    """The code of the refusal, 0 for none. A reply may be lost (`api`): the same request again changes nothing."""
    subject, body = f"$JS.API.STREAM.CREATE.{config['name']}", json.dumps(config).encode()
    try:
        reply = await client.request(subject, body, timeout=10)
    except nats.errors.TimeoutError:
        reply = await client.request(subject, body, timeout=10)
    code: int = json.loads(reply.data).get("error", {}).get("err_code", 0)
    return code


def created(cluster: Cluster, size: int, replicas: int, streams: int, **config: Any) -> tuple[int, int]:
    """How many such streams can really be created, and the code of the refusal; they are deleted again."""

    async def work(client: Client) -> tuple[int, int]:
        leader = cluster.meta_leader() or cluster.names[0]
        system = await nats.connect(cluster.servers("sys")[cluster.names.index(leader)])
        figure = "reserved_memory" if config.get("storage") == "memory" else "reserved_storage"
        reports = _Reports(cluster, system, figure)
        before = sum(reports.reserved.values())
        await system.subscribe("$SYS.SERVER.*.STATSZ", cb=reports.take)
        await system.flush()
        refusal = number = 0
        while number < streams and not refusal:
            wanted = {"name": f"T{number}", "max_bytes": size, "num_replicas": replicas, **config}
            refusal = await _create(client, wanted)
            number += not refusal
            await reports.show(before + number * size * replicas)
        for each in range(number):
            await api(client, f"STREAM.DELETE.T{each}")
        await reports.show(before)
        await system.close()
        return number, refusal

    return with_client(cluster, work)


CASES = [(200, 3, 1), (400, 3, 1), (400, 1, 4), (400, 1, 5), (100, 3, 4), (150, 2, 9), (299, 3, 2)]


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_room_is_what_can_really_be_created(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version, 3, jetstream=LIMITS, node_config=lambda node: SMALLER if node == "n3" else "")
    for megabytes, replicas, streams in CASES:
        wanted = ("--size", f"{megabytes}M", "--replicas", str(replicas), "--streams", str(streams))
        code, document = shown(cluster, tmp_path, *wanted, "--samples", "1")
        (room,) = document["room"]
        really, refusal = created(cluster, megabytes * MB, replicas, streams)
        assert (room["fit"], code, refusal) == (really, int(really < streams), 10005 if really < streams else 0), room
    (room,) = shown(cluster, tmp_path, "--size", "400M", "--replicas", "3", "--samples", "1")[1]["room"]
    assert {fit["server"]: (fit["streams"], fit["left"]) for fit in room["servers"]} == {
        "n1": (1, 1_000 * MB),
        "n2": (1, 1_000 * MB),
        "n3": (0, 300 * MB),
    }
    code, document = shown(cluster, tmp_path, "--size", "1M", "--samples", "1", user="app")
    assert (code, document["has_room"]) == (3, None), "a plain login does not see what servers have reserved"


PLACED: list[tuple[tuple[str, ...], dict[str, Any], int]] = [
    (("--storage", "memory"), {"storage": "memory"}, 7),
    (("--tag", "disk:ssd"), {"placement": {"tags": ["disk:ssd"]}}, 11),
    (("--tag", "disk:ssd", "--tag", "az:1"), {"placement": {"tags": ["disk:ssd", "az:1"]}}, 2),
    (("--tag", "disk:tape"), {"placement": {"tags": ["disk:tape"]}}, 1),
]


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_room_in_memory_and_by_tags_is_what_can_really_be_created(
    cluster_factory: ClusterFactory, version: str, tmp_path: Path
) -> None:
    tags = {"n1": '"az:1", "disk:ssd"', "n2": '"az:2", "disk:ssd"', "n3": '"az:3"'}
    cluster = cluster_factory(version, 3, jetstream=LIMITS, node_config=lambda node: f"server_tags: [{tags[node]}]\n")
    for options, config, streams in PLACED:
        wanted = ("--size", "100M", "--streams", str(streams), *options)
        code, document = shown(cluster, tmp_path, *wanted, "--samples", "1")
        (room,) = document["room"]
        really, refusal = created(cluster, 100 * MB, 1, streams, **config)
        assert (room["fit"], code, bool(refusal)) == (really, int(really < streams), really < streams), (room, refusal)


@pytest.mark.parametrize("version", NEWEST_FIRST)
def test_refused_because_of_reservations(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version, 1, jetstream=LIMITS)
    with_client(cluster, lambda client: add_stream(client, "BIG", subjects=["big"], max_bytes=900 * MB))
    code, document = shown(cluster, tmp_path, "--size", "200M", "--samples", "1")
    assert (code, created(cluster, 200 * MB, 1, 1)) == (1, (0, 10047))
    words = document["spaces"][0]["words"][0]
    assert words.startswith("n1: max_bytes above 100,000,000 is refused (10047) because of reservations, not of use"), (
        words
    )
    assert words.endswith("most is reserved by APP > BIG")
    assert "10047" in document["room"][0]["why"]
    assert shown(cluster, tmp_path, "--size", "100M", "--samples", "1")[0] == 0
    assert created(cluster, 100 * MB, 1, 1) == (1, 0)


@pytest.mark.parametrize("version", NEWEST_FIRST)
@pytest.mark.parametrize("wanted", [(100, 1, 6), (100, 3, 2), (60, 3, 3), (40, 3, 2)])
def test_room_within_the_limits_of_an_account(
    shared_cluster: ClusterFactory, version: str, wanted: tuple[int, int, int], tmp_path: Path
) -> None:
    """A limit without tiers counts replicas in another way in some releases: those may be undecided."""
    megabytes, replicas, streams = wanted
    limited = "jetstream: { max_file: 500M }\n"
    cluster = shared_cluster(version, 3, jetstream=LIMITS, app_account=limited)
    options = ("--size", f"{megabytes}M", "--replicas", str(replicas), "--streams", str(streams))
    document = shown(cluster, tmp_path, *options, "--samples", "1")[1]
    really, refusal = created(cluster, megabytes * MB, replicas, streams)
    assert refusal in (0, 10047)
    rows = [room["fit"] for room in document["room"] if room["is_account"]]
    assert rows in ([], [None], [really]), document["room"]
    assert rows != [] or really == streams
    if version == VERSIONS[-1]:
        assert None not in rows


@contextmanager
def filling(cluster: Cluster, **per_second: int) -> Iterator[None]:
    """Publishes messages of 1,000 bytes at these rates, by the clock: a late one is made up for."""
    over = threading.Event()

    async def publish(client: Client) -> None:
        begun, sent = time.monotonic(), dict.fromkeys(per_second, 0)
        while not over.is_set():
            for subject, rate in per_second.items():
                while sent[subject] < (time.monotonic() - begun) * rate:
                    await client.publish(subject, b"x" * 1_000)
                    sent[subject] += 1
            await asyncio.sleep(0.01)

    thread = threading.Thread(target=with_client, args=(cluster, publish))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_streams_are_full_when_it_says(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version, 1, jetstream=LIMITS)

    async def prepare(client: Client) -> None:
        await add_stream(client, "FAST", subjects=["fast"], max_bytes=2_600_000)
        await add_stream(client, "COUNT", subjects=["count"], max_msgs=1250, discard="new")
        await add_stream(client, "AGED", subjects=["aged"], max_age=3600 * 10**9, max_bytes=500 * MB)
        await add_stream(client, "SLOW", subjects=["slow"], max_bytes=100 * MB)

    with_client(cluster, prepare)
    assert shown(cluster, tmp_path, "--samples", "1")[0] == 0  # what is loaded now takes no time while streams fill
    with filling(cluster, fast=100, count=50, aged=20, slow=10):
        wait_until(lambda: _state(cluster, "n1", "SLOW").get("messages", 0) >= 5, "messages in every stream")
        document = shown(cluster, tmp_path, "--samples", "3", "--interval", "1500ms")[1]
        due = {row["subject"]["name"]: row["due"][0] for row in document["streams"] if row["due"]}
        full = {
            "FAST": reached(cluster, "FAST", "first_seq", 2),
            "COUNT": reached(cluster, "COUNT", "messages", 1_250),
        }
        aged, slow = (_state(cluster, "n1", name) for name in ("AGED", "SLOW"))
    for name, moment in full.items():
        early, late = (datetime.fromisoformat(due[name][each]) for each in ("earliest", "latest"))
        assert (early - moment).total_seconds() < 1.5, (name, due[name], moment)
        assert (moment - late).total_seconds() < 1.5, (name, due[name], moment)
    assert (due["COUNT"]["limit"], due["AGED"]["limit"]) == ("max_msgs", "max_age")
    rates = {row["subject"]["name"]: row["rate"]["mean"] for row in document["streams"]}
    for name, rate, state in (("AGED", 20, aged), ("SLOW", 10, slow)):
        assert rates[name] == pytest.approx(rate * state["bytes"] / state["messages"], rel=0.12)
    days = (datetime.fromisoformat(due["SLOW"]["expected"]) - datetime.now(UTC)).total_seconds() / 86_400
    assert days == pytest.approx(100 * MB / (10 * slow["bytes"] / slow["messages"]) / 86_400, rel=0.15)
    assert due["AGED"]["value"] == pytest.approx(3600 * 20 * aged["bytes"] / aged["messages"], rel=0.15)


def reached(cluster: Cluster, stream: str, field: str, value: int) -> datetime:
    """The time at which the state of a stream has come so far."""
    wait_until(lambda: _state(cluster, "n1", stream).get(field, 0) >= value, f"{stream} to be full", timeout=60)
    return datetime.now(UTC)
