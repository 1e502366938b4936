"""Ten thousand streams on three servers, created by bare requests of the JetStream API, many at once.

All is kept in memory and has one replica; of every hundred streams one has three. Of every ten streams one is stuck
(all its consumers hold their limit of unacknowledged messages) and one is nearly full. `deployment.py` makes a smaller
one that is nearer to real ones: in files, and with consumers that have acknowledged what they got.

    python -m bench.largest_deployment DIRECTORY --streams 10000 --consumers 10

alone launches one, prints the URLs of its system account and of its account, and keeps it until it is interrupted.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client

from bench.deployment import NODES
from tests.servers import Cluster, wait_until

JETSTREAM = "max_memory_store: 4G\n  max_file_store: 4G"
_PARALLEL = 256
_REPLICATED, _STUCK, _NEARLY_FULL = 7, 3, 5
_HELD_BACK = 3
_ATTEMPTS = 20
_WAIT_S = 0.25
_PATIENCE_S = 30.0
_HOUR_NS = 3_600_000_000_000
_EXISTS = (10058, 10148)
"""The name is in use: the request that the reply was lost of had done its work."""

Json = dict[str, Any]


def furnish(cluster: Cluster, streams: int, consumers: int) -> None:
    """Create them all, and wait until every server has what it is to hold."""
    asyncio.run(_create(cluster.servers("app"), streams, consumers))
    copies = sum(_replicas(number) for number in range(streams))

    def is_complete() -> bool:
        held = [cluster.monitor(node, "/jsz") for node in cluster.names]
        return [sum(jsz[kind] for jsz in held) for kind in ("streams", "consumers")] == [copies, copies * consumers]

    wait_until(is_complete, "all servers to hold their streams and consumers", timeout=300)


async def _create(urls: list[str], streams: int, consumers: int) -> None:
    clients = [await nats.connect(url, pending_size=64 << 20) for url in urls]
    names = [f"S{number:05d}" for number in range(streams)]

    def client_of(number: int) -> Client:
        return clients[number % len(clients)]

    async def stream(number: int) -> None:
        await _ask(client_of(number), f"STREAM.CREATE.{names[number]}", _stream_config(names[number], number))

    async def consumer(number: int) -> None:
        of, index = divmod(number, consumers)
        name, of_stream = f"C{index}", names[of]
        held = {"max_ack_pending": _HELD_BACK, "ack_wait": _HOUR_NS} if of % 10 == _STUCK else {}
        config = {"name": name, "durable_name": name, "ack_policy": "explicit", "mem_storage": True, **held}
        await _ask(client_of(of), f"CONSUMER.CREATE.{of_stream}.{name}", {"stream_name": of_stream, "config": config})

    async def fill(number: int) -> None:
        wanted = 19 if number % 10 == _NEARLY_FULL else 5
        for count in range(wanted):
            await _until_done(client_of(number), f"{names[number]}.a", b"x" * 100, _is_stored, str(count))

    async def hold(number: int) -> None:
        """Take what a consumer may hold, and do not acknowledge it."""
        of, index = divmod(number, consumers)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{names[of]}.C{index}"
        for _ in range(_HELD_BACK):
            # A delivery bears the subject of its message: only an inbox of its own knows it for the reply.
            await client_of(of).request(subject, b'{"batch": 1}', timeout=_PATIENCE_S, old_style=True)

    try:
        stuck = [n for n in range(streams * consumers) if n // consumers % 10 == _STUCK]
        full = [n for n in range(streams) if n % 10 in (_STUCK, _NEARLY_FULL)]
        for what, act, numbers in (
            ("streams", stream, range(streams)),
            ("consumers", consumer, range(streams * consumers)),
            ("streams with messages", fill, full),
            ("consumers that hold messages", hold, stuck),
        ):
            begun = time.perf_counter()
            await _all(act, numbers)
            print(f"{len(numbers):,} {what} in {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    finally:
        for client in clients:
            await client.close()


async def _all(act: Callable[[int], Awaitable[None]], numbers: Iterable[int]) -> None:
    """As many at once as there are workers: a task for each number would be a hundred thousand tasks."""
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            await act(number)

    await asyncio.gather(*(work() for _ in range(_PARALLEL)))


def _replicas(number: int) -> int:
    return NODES if number % 100 == _REPLICATED else 1


def _stream_config(name: str, number: int) -> Json:
    limits: Json = {"max_msgs": 20, "discard": "new"} if number % 10 == _NEARLY_FULL else {"max_msgs": 1000}
    return {
        "name": name,
        "subjects": [f"{name}.>"],
        "storage": "memory",
        "num_replicas": _replicas(number),
        "max_age": 72 * _HOUR_NS,
        **limits,
    }


async def _ask(client: Client, target: str, body: Json) -> None:
    def is_done(reply: bytes) -> bool:
        error = json.loads(reply).get("error")
        return not error or error.get("err_code") in _EXISTS

    await _until_done(client, f"$JS.API.{target}", json.dumps(body).encode(), is_done)


def _is_stored(reply: bytes) -> bool:
    return b'"seq"' in reply


async def _until_done(
    client: Client, subject: str, body: bytes, is_done: Callable[[bytes], bool], message_id: str = ""
) -> None:
    """Ask until it is done: our server, or the leader, may not have heard yet of what was created a moment ago."""
    reply = b"no reply"
    headers = {"Nats-Msg-Id": message_id} if message_id else None
    for _ in range(_ATTEMPTS):
        try:
            reply = (await client.request(subject, body, timeout=_PATIENCE_S, headers=headers)).data
        except nats.errors.Error as error:
            reply = repr(error).encode()
        else:
            if is_done(reply):
                return
        await asyncio.sleep(_WAIT_S)
    raise RuntimeError(f"{subject}: {reply[:200]!r}")


def main() -> None:
    """Launch, furnish, print, wait."""
    parser = argparse.ArgumentParser(prog="python -m bench.largest_deployment")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--consumers", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=NODES, choices=(1, NODES))
    options = parser.parse_args()
    with Cluster.launch(options.directory, nodes=options.nodes, jetstream=JETSTREAM) as cluster:
        furnish(cluster, options.streams, options.consumers)
        print(cluster.url("sys"), cluster.url("app"), *cluster.monitor_urls, sep="\n", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
