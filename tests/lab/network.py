"""A lab: namespaces, the forwarder between them, and what is run in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import msgspec
import pytest

from tests.lab.namespaces import can_make_namespaces
from tests.lab.plan import CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6, Disturbance, Orders, Report
from tests.servers import ROOT, server_binary

_numbers = count()


class Lab:
    """A running lab; after `open` has ended, the captures and the report are there."""

    def __init__(self, directory: Path, names: tuple[str, str, str], disturbance: Disturbance) -> None:
        self.directory = directory
        self.client, self.middle, self.server = names
        self.disturbance = disturbance
        self._stack = ExitStack()
        self._report: Report | None = None

    @property
    def client_capture(self) -> Path:
        """What was captured at the client's end."""
        return self.directory / "client.pcap"

    @property
    def server_capture(self) -> Path:
        """What was captured at the server's end."""
        return self.directory / "server.pcap"

    @property
    def report(self) -> Report:
        """What the forwarder did."""
        if self._report is None:
            self._report = msgspec.msgpack.decode((self.directory / "report.msgpack").read_bytes(), type=Report)
        return self._report

    @classmethod
    @contextmanager
    def open(cls, directory: Path, disturbance: Disturbance) -> Iterator[Lab]:
        """Build the network and disturb it from now on. Afterwards all of it is gone, and the captures are written."""
        number = f"{os.getpid():x}-{next(_numbers)}"
        lab = cls(directory, (f"jsd-{number}-c", f"jsd-{number}-m", f"jsd-{number}-s"), disturbance)
        directory.mkdir(parents=True, exist_ok=True)
        with lab._stack:
            lab._build()
            lab._forward()
            yield lab

    def publish(self, messages: int, *, ipv6: bool = False, size: int = 300, in_flight: int = 8) -> str:
        """Start a nats-server, publish to JetStream through the network and read everything back."""
        address = f"[{SERVER_V6}]" if ipv6 else SERVER_V4
        configuration = self.directory / "server.conf"
        configuration.write_text(f'host: "::"\nport: 4222\njetstream {{ store_dir: "{self.directory}/js" }}\n')
        self.start(self.server, server_binary(), "-c", configuration)
        words = ("--messages", messages, "--size", size, "--in-flight", in_flight)
        url = f"nats://{address}:4222"
        return self.run(self.client, sys.executable, "-m", "tests.lab.traffic", url, *map(str, words))

    def publish_on_route(self, messages: int, *, size: int = 300) -> str:
        """Start a cluster of two servers, one at either end, and have one keep copies of what the other stores."""
        ends = ((self.client, CLIENT_V4, SERVER_V4), (self.server, SERVER_V4, CLIENT_V4))
        for namespace, own, other in ends:
            configuration = self.directory / f"{namespace}.conf"
            configuration.write_text(
                f'host: "{own}"\nport: 4222\nserver_name: "{namespace}"\n'
                f'jetstream {{ store_dir: "{self.directory}/{namespace}" }}\n'
                f'cluster {{ name: lab, listen: "{own}:6222", routes: ["nats://{other}:6222"] }}\n'
            )
            self.start(namespace, server_binary(), "-c", configuration)
        words = ("--messages", messages, "--size", size, "--replicas", 2)
        url = f"nats://{CLIENT_V4}:4222"
        return self.run(self.client, sys.executable, "-m", "tests.lab.traffic", url, *map(str, words))

    def run(self, namespace: str, *command: str | Path, timeout: float = 90) -> str:
        """Run something inside one of the namespaces to its end; what it printed."""
        done = subprocess.run(
            ["ip", "netns", "exec", namespace, *map(str, command)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=ROOT,
        )
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def start(self, namespace: str, *command: str | Path) -> subprocess.Popen[bytes]:
        """Start something inside one of the namespaces; it is ended with the lab, before the forwarder."""
        log = (self.directory / f"{namespace}.log").open("ab")
        self._stack.callback(log.close)
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
        )
        self._stack.callback(_end, process)
        return process

    def _build(self) -> None:
        for namespace in (self.client, self.middle, self.server):
            _ip("netns", "add", namespace)
            self._stack.callback(_ip, "netns", "del", namespace)
            _ip("-n", namespace, "link", "set", "lo", "up")
        sides = ((self.client, "to_client", CLIENT_V4, CLIENT_V6), (self.server, "to_server", SERVER_V4, SERVER_V6))
        for namespace, other_end, ipv4, ipv6 in sides:
            _ip("-n", self.middle, "link", "add", other_end, "type", "veth", "peer", "name", "lab0", "netns", namespace)
            _ip("-n", namespace, "addr", "add", f"{ipv4}/24", "dev", "lab0")
            _ip("-n", namespace, "addr", "add", f"{ipv6}/64", "dev", "lab0", "nodad")
            _ip("-n", namespace, "link", "set", "lab0", "up")
            _ip("-n", self.middle, "link", "set", other_end, "up")

    def _forward(self) -> None:
        orders = Orders(self.client, self.middle, self.server, str(self.directory), self.disturbance)
        file = self.directory / "orders.json"
        file.write_bytes(msgspec.json.encode(orders))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.forwarder", str(file)], stdout=subprocess.PIPE, cwd=ROOT
        )
        self._stack.callback(_end, process)
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            raise RuntimeError("the forwarder did not start")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def lab_or_skip() -> None:
    """Skip the test, with the reason, where no lab can be built."""
    reason = can_make_namespaces()
    if not reason:
        name = f"jsd-{os.getpid():x}-probe"
        try:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "add", "lab0", "type", "veth", "peer", "name", "lab1")
        except subprocess.CalledProcessError as error:
            reason = f"no network namespaces here: {error.stderr.decode().strip()}"
        finally:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    if reason:
        pytest.skip(reason)
