"""A capture of real JetStream traffic: a server, publishers and a consumer on the loopback interface, and tcpdump.

python -m bench.traffic_capture FILE --published 150000
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
from nats.js.api import StorageType

from bench.process import CannotMeasureError
from jsdoctor.demo.server import free_ports
from tests.servers import server_binary

_DELIVERED = 0.4
_PUBLISHERS, _IN_FLIGHT, _BATCH, _SIZE = 3, 256, 200, 256
_STARTS_IN_S, _QUIET_S = 30, 0.5
_HEADER, _RECORD = 24, 16


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is in the file."""

    packets: int
    published: int
    delivered: int


def cannot_record() -> str:
    """Why no traffic can be captured here; empty when it can."""
    if os.geteuid():
        return "capturing real traffic needs root"
    return "" if shutil.which("tcpdump") else "capturing real traffic needs tcpdump"


def record(path: Path, published: int) -> Traffic:
    """Publish so many messages, have 40 % of them delivered and acknowledged, and capture all of it."""
    delivered = int(published * _DELIVERED)
    (port,) = free_ports(1)
    temporary = tempfile.TemporaryDirectory(prefix="jsdoctor-bench-")
    with temporary as name, _server(Path(name), port), _tcpdump(path, port):
        asyncio.run(_traffic(f"nats://127.0.0.1:{port}", published, delivered))
    return Traffic(_packets_in(path), published, delivered)


def _packets_in(path: Path) -> int:
    """Counted record by record, without the file in memory."""
    packets = 0
    with path.open("rb") as file:
        file.seek(_HEADER)
        while record := file.read(_RECORD):
            file.seek(int.from_bytes(record[8:12], "little"), os.SEEK_CUR)
            packets += 1
    return packets


@contextmanager
def _server(directory: Path, port: int) -> Iterator[None]:
    log = directory / "server.log"
    words = ("-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(directory / "js"), "-l", str(log))
    with _ended(subprocess.Popen([server_binary(), *words])):
        until = time.monotonic() + _STARTS_IN_S
        while not (log.exists() and "Server is ready" in log.read_text()):
            if time.monotonic() > until:
                raise CannotMeasureError("nats-server did not start")
            time.sleep(0.05)
        yield


@contextmanager
def _tcpdump(path: Path, port: int) -> Iterator[None]:
    options = ("-n", "-i", "lo", "-s", "0", "-B", "262144", "--immediate-mode", "-Z", "root", "-w", str(path))
    process = subprocess.Popen(["tcpdump", *options, f"tcp port {port}"], stderr=subprocess.PIPE)
    with _ended(process):
        stderr = process.stderr
        if stderr is None or not any(b"listening on" in line for line in stderr):
            raise CannotMeasureError("tcpdump does not listen on lo")
        yield
        size, since = -1, time.monotonic()
        while time.monotonic() < since + _QUIET_S:
            now = path.stat().st_size
            size, since = now, since if now == size else time.monotonic()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        if b"\n0 packets dropped by kernel" not in stderr.read():
            raise CannotMeasureError("tcpdump lost packets of the traffic")


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


async def _traffic(url: str, published: int, delivered: int) -> None:
    consumer = await nats.connect(url, name="bench consumer")
    js = consumer.jetstream()
    await js.add_stream(name="ORDERS", subjects=["ORDERS.>"], storage=StorageType.MEMORY)
    pull = await js.pull_subscribe("ORDERS.>", durable="WORKERS")
    shares = [published // _PUBLISHERS + (number < published % _PUBLISHERS) for number in range(_PUBLISHERS)]
    publishing = asyncio.gather(*(_publish(url, number, share) for number, share in enumerate(shares)))
    taken = 0
    while taken < delivered:
        for message in await pull.fetch(min(_BATCH, delivered - taken), timeout=30):
            await message.ack()
            taken += 1
    await publishing
    await consumer.close()


async def _publish(url: str, number: int, messages: int) -> None:
    """So many publishes, some at a time; every other one has an id."""
    connection = await nats.connect(url, name=f"bench publisher {number}")
    js, room = connection.jetstream(), asyncio.Semaphore(_IN_FLIGHT)

    async def publish(sequence: int) -> None:
        headers = {"Nats-Msg-Id": f"{number}-{sequence}"} if sequence % 2 else None
        try:
            await js.publish("ORDERS.new", b"%08d" % sequence + b"x" * _SIZE, headers=headers, timeout=60)
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        for sequence in range(messages):
            await room.acquire()
            group.create_task(publish(sequence))
    await connection.close()


def main() -> None:
    """Record one file and say what is in it."""
    parser = argparse.ArgumentParser(description="Capture real JetStream traffic.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--published", type=int, default=150_000)
    options = parser.parse_args()
    print(record(options.file, options.published))


if __name__ == "__main__":
    main()
