"""Records the captures `fixtures/captures/own-*`: real servers and clients on the loopback interface.

sudo python -m tools.record_captures [NAME...]     (a minute; needs tcpdump and the privilege to capture)
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StreamConfig
from nats.js.errors import APIError

from jsdoctor.demo.server import free_ports
from tests.servers import Cluster, server_binary, wait_until
from tests.support.packet_cases import CAPTURES
from tools.record_conditions import healthy, pulls_ended, refused, rejected, scenario, silenced, stalled
from tools.record_ends import WRITE_DEADLINE, reset_by_both, slow_consumer

_PASSWORD = "correct-horse-battery-staple"
_LIMITED = f"""
LTD {{
  jetstream: enabled
  users: [{{user: ltd, password: {_PASSWORD}, permissions: {{publish: {{deny: ["secret.>"]}}}}}}]
}}
"""

Scenario = Callable[[Cluster], Coroutine[None, None, None]]


@contextlib.asynccontextmanager
async def connected(cluster: Cluster, name: str, **options: object) -> AsyncIterator[Client]:
    """A client that does not reconnect."""
    client = await nats.connect(cluster.servers("app")[:1], name=name, allow_reconnect=False, **options)
    try:
        yield client
    finally:
        await client.close()


async def orders(client: Client, replicas: int = 1) -> None:
    """The stream ORDERS."""
    config = StreamConfig(name="ORDERS", subjects=["ORDERS.>"], num_replicas=replicas)
    config.retention = RetentionPolicy.LIMITS
    await client.jetstream().add_stream(config)


async def late_acks(cluster: Cluster) -> None:
    """A worker that needs longer than ack_wait, beside one that does not; and one that refuses and asks for time."""
    async with connected(cluster, "worker") as client:
        js = client.jetstream()
        await orders(client)
        for number in range(15):
            await js.publish("ORDERS.new", b"%d" % number)
        for name in ("SLOW", "QUICK", "PATIENT"):
            config = ConsumerConfig(
                durable_name=name, ack_policy=AckPolicy.EXPLICIT, ack_wait=0.5 if name == "SLOW" else 30
            )
            await js.add_consumer("ORDERS", config)
        slow = await js.pull_subscribe_bind("SLOW", "ORDERS")
        first = await slow.fetch(15)
        await asyncio.sleep(0.7)
        again = await slow.fetch(15, timeout=5)
        for message in first:
            await message.ack()
        for message in again:
            with contextlib.suppress(Error):
                await message.ack()
        quick = await js.pull_subscribe_bind("QUICK", "ORDERS")
        for message in await quick.fetch(15):
            await message.ack_sync()
        patient = await js.pull_subscribe_bind("PATIENT", "ORDERS")
        taken = await patient.fetch(3)
        await taken[0].in_progress()
        await taken[0].ack()
        await taken[1].nak()
        await taken[2].term()
        for message in await patient.fetch(1):
            await message.ack()


async def deliveries(cluster: Cluster) -> None:
    """Push consumers: one whole, with heartbeats; one whose client left out what another subscription got."""
    async with connected(cluster, "reader") as client, connected(cluster, "other") as other:
        js = client.jetstream()
        await orders(client)
        await js.subscribe("ORDERS.>", durable="WHOLE", idle_heartbeat=0.2)
        gap = await client.subscribe("deliver.gap")
        config = ConsumerConfig(durable_name="GAP", deliver_subject="deliver.gap", ack_policy=AckPolicy.NONE)
        await js.add_consumer("ORDERS", config)
        for number in range(5):
            await js.publish("ORDERS.new", b"%d" % number)
        await client.flush()
        await other.publish("keep.order")
        await gap.unsubscribe()
        kept = await _elsewhere(cluster)
        for number in range(7):
            await js.publish("ORDERS.new", b"%d" % number)
        await client.subscribe("deliver.gap")
        await client.flush()
        await js.publish("ORDERS.new", b"last")
        await client.flush()
        await asyncio.sleep(0.7)
        await kept.close()


async def _elsewhere(cluster: Cluster) -> Client:
    """A subscription over another port of the server, which is not captured: WebSocket."""
    port = cluster.monitor("n1", "/varz")["websocket"]["port"]
    client = await nats.connect(f"ws://127.0.0.1:{port}", user="app", password="app")
    await client.subscribe("deliver.gap")
    await client.flush()
    return client


async def refusals(cluster: Cluster) -> None:
    """A publisher that repeats itself without reading, and one whose retry comes after the first copy was stored."""
    async with connected(cluster, "stuck") as stuck, connected(cluster, "retrying") as retrying:
        await orders(stuck)
        for number in range(5):
            await stuck.jetstream().publish("ORDERS.new", b"%d" % number)
        for _ in range(4):
            with contextlib.suppress(APIError):
                await stuck.jetstream().publish("ORDERS.new", b"x", headers={"Nats-Expected-Last-Sequence": "2"})
        headers = {"Nats-Expected-Last-Sequence": "5", "Nats-Msg-Id": "once"}
        for _ in range(2):
            with contextlib.suppress(APIError):
                await retrying.jetstream().publish("ORDERS.new", b"y", headers=headers)
        for _ in range(4):
            with contextlib.suppress(APIError):
                await retrying.jetstream().publish("ORDERS.new", b"z", headers={"Nats-Expected-Last-Sequence": "99"})


async def slow_responses(cluster: Cluster) -> None:
    """A server that stands still: briefly for many publishes, then for longer than clients wait."""
    async with connected(cluster, "waiting") as client, connected(cluster, "patient") as patient:
        await orders(client)
        for number in range(40):
            await client.jetstream().publish("ORDERS.new", b"%d" % number)
        for number in range(3):
            cluster.pause("n1")
            answers = [
                asyncio.create_task(client.jetstream().publish("ORDERS.new", b"%d" % number)) for number in range(5)
            ]
            await asyncio.sleep(0.3)
            cluster.resume("n1")
            await asyncio.gather(*answers)
        await patient.jetstream().publish("ORDERS.new", b"first")
        cluster.pause("n1")
        answer = asyncio.create_task(patient.jetstream(timeout=10).publish("ORDERS.new", b"late"))
        await asyncio.sleep(5.3)
        cluster.resume("n1")
        await answer


async def permissions(cluster: Cluster) -> None:
    """A publisher that may not publish what it does, and a login that is wrong."""
    port = cluster.urls[0].rpartition(":")[2]
    client = await nats.connect(f"nats://127.0.0.1:{port}", user="ltd", password=_PASSWORD, name="limited")
    await client.publish("secret.plan", b"x")
    await client.flush()
    await client.close()
    with contextlib.suppress(Error):
        await nats.connect(
            f"nats://127.0.0.1:{port}", user="ltd", password="wrong", allow_reconnect=False, name="guessing"
        )


async def routes(cluster: Cluster) -> None:
    """Publishes and deliveries that cross routes."""
    cluster.stop("n3")
    cluster.start("n3")
    cluster.wait_ready()
    async with connected(cluster, "abroad") as client:
        js = client.jetstream()
        for number in range(3):
            name = f"S{number}"
            await js.add_stream(StreamConfig(name=name, subjects=[f"{name}.>"]))
            subscription = await js.subscribe(f"{name}.>", durable="D")
            for message in range(10):
                await js.publish(f"{name}.new", b"%d" % message)
            for _ in range(10):
                await (await subscription.next_msg(timeout=5)).ack()
        await client.flush()
        await asyncio.sleep(0.2)


async def compressed(cluster: Cluster) -> None:
    """Two servers of their own with a compressed route, and a message across it."""
    ports = free_ports(4)
    config = """listen: 127.0.0.1:%d\ncluster { name: S2, listen: "127.0.0.1:%d", compression: s2_fast
      routes: ["nats://127.0.0.1:%d"] }\n"""
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as running:
        raw = Path(directory) / "capture.pcap"
        running.enter_context(capturing(raw, ports[2:]))
        for place in (0, 1):
            file = Path(directory) / f"{place}.conf"
            file.write_text(config % (ports[place], ports[2 + place], ports[3 - place]))
            command = [str(server_binary()), "-c", str(file)]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: ASYNC220 - starts at once
            running.callback(process.wait)
            running.callback(process.terminate)
        await asyncio.sleep(2)
        first, other = [await nats.connect(f"nats://127.0.0.1:{port}") for port in ports[:2]]
        got = await first.subscribe("over")
        await first.flush()
        await asyncio.sleep(0.3)
        await other.publish("over", b"compressed " * 50)
        await got.next_msg(timeout=5)
        await first.close()
        await other.close()
        await asyncio.sleep(0.3)
        keep(raw, "routes-s2")


async def unreachable(cluster: Cluster) -> None:
    """Clients that nobody lets in: the usual port of leaf nodes on an address where nothing listens."""
    with tempfile.TemporaryDirectory() as directory:
        raw = Path(directory) / "capture.pcap"
        with capturing(raw, [7422]):
            for _ in range(12):
                with contextlib.suppress(OSError):
                    await asyncio.open_connection("127.0.0.9", 7422)
        keep(raw, "unreachable")


async def websocket(cluster: Cluster) -> None:
    """A WebSocket connection."""
    port = cluster.monitor("n1", "/varz")["websocket"]["port"]
    client = await nats.connect(f"ws://127.0.0.1:{port}", user="app", password="app", name="browser")
    await client.publish("hello", b"x")
    await client.flush()
    await client.close()


_WEBSOCKET = "websocket { port: -1, no_tls: true }\n"
SCENARIOS: dict[str, tuple[Scenario, int, str, str]] = {
    "late-acks": (late_acks, 1, "client", ""),
    "deliveries": (deliveries, 1, "client", _WEBSOCKET),
    "refusals": (refusals, 1, "client", ""),
    "slow-answers": (slow_responses, 1, "client", ""),
    "permissions": (permissions, 1, "client", ""),
    "routes": (routes, 3, "route", ""),
    "unreachable": (unreachable, 1, "", ""),
    "routes-s2": (compressed, 1, "", ""),
    "rejected": (scenario(connected, "worker", rejected), 1, "client", ""),
    "refused": (scenario(connected, "publisher", refused), 1, "client", ""),
    "pulls-ended": (scenario(connected, "puller", pulls_ended), 1, "client", ""),
    "silent": (silenced(connected), 1, "client", ""),
    "stalled": (scenario(connected, "reader", stalled), 1, "client", ""),
    "healthy": (scenario(connected, "service", healthy), 1, "client", ""),
    "reset": (reset_by_both, 1, "client", ""),
    "slow-consumer": (slow_consumer, 1, "client", WRITE_DEADLINE),
    "websocket": (websocket, 1, "websocket", _WEBSOCKET),
}
"""What is done, on how many servers, which port is captured, more configuration."""


@contextlib.contextmanager
def capturing(path: Path, ports: list[int]) -> Iterator[None]:
    """Tcpdump on loopback."""
    wanted = " or ".join(f"tcp port {port}" for port in ports)
    process = subprocess.Popen(
        ["tcpdump", "-i", "lo", "--immediate-mode", "-U", "-B", "65536", "-s", "0", "-w", str(path), wanted],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: path.exists() and path.stat().st_size >= 24, "tcpdump to listen")
        time.sleep(0.3)
        yield
        time.sleep(0.5)
    finally:
        process.terminate()
        process.wait()


def ports_of(cluster: Cluster, which: str) -> list[int]:
    """The ports of that kind."""
    varz_replies = [cluster.monitor(name, "/varz") for name in cluster.names]
    if which == "client":
        return [int(varz["port"]) for varz in varz_replies]
    if which == "websocket":
        return [int(varz["websocket"]["port"]) for varz in varz_replies]
    return [int(varz["cluster"]["cluster_port"]) for varz in varz_replies]


def keep(raw: Path, name: str) -> None:
    """Pack a capture to where the tests look for it."""
    target = CAPTURES / f"own-{name}.pcap.gz"
    with raw.open("rb") as source, target.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        shutil.copyfileobj(source, packed)
    sys.stdout.write(f"{target.name}: {target.stat().st_size:,} bytes\n")


def record(name: str) -> None:
    """One scenario into `fixtures/captures/own-NAME.pcap.gz`."""
    scenario, nodes, which, extra = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        with Cluster.launch(work, nodes=nodes, extra_config=extra, accounts=_LIMITED) as cluster:
            if not which:
                asyncio.run(scenario(cluster))
                return
            raw = work / "capture.pcap"
            with capturing(raw, ports_of(cluster, which)):
                asyncio.run(scenario(cluster))
            keep(raw, name)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SCENARIOS:
        record(wanted)
