"""Hosts as they are: offloads on, with bridges, routers, NAT, VXLAN and paths in user space between them.

with Hosts.open(tmp_path, Topology("nat", offloads="all")) as hosts:
    hosts.capture("server", "lab0")
    ...
hosts.resent           segments of TCP that the kernels of both hosts sent again
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec

from tests.lab.namespaces import inside
from tests.lab.path import PathOrders
from tests.lab.plan import Disturbance
from tests.lab.wrappings import BONDS, WRAPPINGS
from tests.servers import ROOT, server_binary, wait_until

_numbers = count()
CLIENT, SERVER, FAR_SERVER = "192.0.2.1", "192.0.2.2", "198.51.100.2"
_ROUTER, _FAR_ROUTER = "192.0.2.254", "198.51.100.254"
_OUTSIDE = {"client": "10.9.0.1", "server": "10.9.0.2"}
_MTU, _TUNNEL_MTU = 1500, 1400
_OFFLOADS = {
    "all": {"tso": "on", "gso": "on", "gro": "on"},
    "sending": {"tso": "on", "gso": "on", "gro": "off"},
    "receiving": {"tso": "off", "gso": "off", "gro": "on"},
    "none": {"tso": "off", "gso": "off", "gro": "off"},
}


@dataclass(frozen=True)
class Topology:
    """What is between the hosts: bridge, router, nat, vxlan, or a wrapping of a path in user space.

    `offloads` are those of the hosts, `middle` those of what is between them: a middle without cuts segments there.
    `narrow`: the MTU of a bridge towards the server, which drops what is larger silently; 0: it takes all.
    """

    kind: str
    offloads: str = "all"
    middle: str = "all"
    disturbance: Disturbance = Disturbance(delay=0.5)  # noqa: RUF009 - frozen
    jitter: float = 0.0
    narrow: int = 0


class Hosts:
    """A client, a server and what is between them, in network namespaces."""

    def __init__(self, directory: Path, topology: Topology) -> None:
        number = f"{os.getpid():x}-{next(_numbers)}"
        self.names = {name: f"jsd-{number}-{name[0]}" for name in ("client", "middle", "server")}
        self.directory, self.topology = directory, topology
        self.server = FAR_SERVER if topology.kind in ("router", "nat") else SERVER
        self.path: dict[str, int] = {}
        self.resent = 0
        self._stack = ExitStack()
        self._captures: list[tuple[Path, subprocess.Popen[bytes]]] = []

    @classmethod
    @contextmanager
    def open(cls, directory: Path, topology: Topology) -> Iterator[Hosts]:
        """Build it; at the end captures are complete, and all of it is gone."""
        hosts = cls(directory, topology)
        directory.mkdir(parents=True, exist_ok=True)
        with hosts._stack:
            hosts._build()
            yield hosts
            hosts._end_captures()
            hosts.resent = sum(hosts.sent_again(name) for name in ("client", "server"))

    def serve(self) -> str:
        """Start a nats-server with JetStream; its URL."""
        configuration = self.directory / "server.conf"
        configuration.write_text(f'host: "0.0.0.0"\nport: 4222\njetstream {{ store_dir: "{self.directory}/js" }}\n')
        log = self.directory / "server.log"
        self.start("server", server_binary(), "-c", configuration, "-l", log)
        wait_until(lambda: log.exists() and "Server is ready" in log.read_text(), "the server", timeout=60)
        return f"nats://{self.server}:4222"

    def command(self, name: str, *command: str | Path) -> list[str]:
        """A command line that runs inside one of the namespaces."""
        return ["ip", "netns", "exec", self.names[name], *map(str, command)]

    def start(self, name: str, *command: str | Path) -> subprocess.Popen[bytes]:
        """Start something there; it is ended with the hosts."""
        process = subprocess.Popen(
            self.command(name, *command), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        self._stack.callback(_end, process)
        return process

    def capture(self, name: str, interface: str, *words: str, label: str = "") -> Path:
        """Capture from now on with tcpdump; returns once it listens.

        Not in immediate mode: each packet of an `any` interface has 256 KiB of the buffer there, which a busy machine
        overruns.
        """
        path = self.directory / f"{name}-{label or interface}.pcap"
        command = ["tcpdump", "-n", "-s", "0", "-B", "65536", "-U", "-Z", "root", "-i", interface]
        process = subprocess.Popen(
            self.command(name, *command, *words, "-w", path), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        self._stack.callback(_end, process)
        assert process.stderr is not None
        stderr_text = b""
        while b"listening on" not in stderr_text:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"tcpdump ended: {stderr_text.decode()}")
            stderr_text += line
        self._captures.append((path, process))
        return path

    def _end_captures(self) -> None:
        """When nothing has been written for a while, everything has been: the kernel gives what it has once a second.

        RuntimeError when the kernel had no place for a packet: such a capture is no view of what was planted.
        """
        size, since = -1, time.monotonic()
        while time.monotonic() < since + 1.5:
            now = sum(file.stat().st_size for path, _ in self._captures for file in path.parent.glob(f"{path.name}*"))
            size, since = now, since if now == size else time.monotonic()
            time.sleep(0.05)
        for path, process in self._captures:
            _terminate(process)
            assert process.stderr is not None
            counts = process.stderr.read().decode()
            if "\n0 packets dropped by kernel" not in counts:
                raise RuntimeError(f"{path.name} is not complete: {counts}")

    def sent_again(self, name: str) -> int:
        """Segments of TCP that the kernel of that host has sent again until now."""
        with inside(self.names[name]):
            names, values = (
                line.split() for line in Path("/proc/thread-self/net/snmp").read_text().splitlines() if "Tcp:" in line
            )
        return int(dict(zip(names, values, strict=True))["RetransSegs"])

    def _ip(self, name: str, *words: str) -> None:
        _run("ip", "-n", self.names[name], *words)

    def _build(self) -> None:
        for namespace in self.names.values():
            _run("ip", "netns", "add", namespace)
            self._stack.callback(_run, "ip", "netns", "del", namespace)
        for name in self.names:
            self._ip(name, "link", "set", "lo", "up")
            _run(*self.command(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"))
        links = 2 if self.topology.kind in BONDS else 1
        for side in ("client", "server"):
            for number in range(links):
                self._link(side, number)
        getattr(self, f"_build_{self.topology.kind}", self._build_path)()

    def _link(self, side: str, number: int) -> None:
        other, own = f"{side}{number}", f"lab{number}"
        mtu = str(_MTU if self.topology.kind in ("bridge", "router", "nat", "plain", "zeroed ids") else _MTU + 100)
        peer = ("type", "veth", "peer", "name", own, "netns", self.names[side])
        self._ip("middle", "link", "add", other, *peer)
        for name, interface, offloads in ((side, own, self.topology.offloads), ("middle", other, self.topology.middle)):
            words = [word for pair in _OFFLOADS[offloads].items() for word in pair]
            _run(*self.command(name, "ethtool", "-K", interface, *words))
            self._ip(name, "link", "set", interface, "mtu", mtu, "up")

    def _bridge(self) -> None:
        self._ip("middle", "link", "add", "bridge0", "type", "bridge")
        for side in ("client", "server"):
            self._ip("middle", "link", "set", f"{side}0", "master", "bridge0")
        self._ip("middle", "link", "set", "bridge0", "up")

    def _build_bridge(self) -> None:
        self._bridge()
        if self.topology.narrow:
            self._ip("middle", "link", "set", "server0", "mtu", str(self.topology.narrow))
        self._ip("client", "addr", "add", f"{CLIENT}/24", "dev", "lab0")
        self._ip("server", "addr", "add", f"{SERVER}/24", "dev", "lab0")

    def _build_router(self) -> None:
        for side, own, router in (("client", CLIENT, _ROUTER), ("server", FAR_SERVER, _FAR_ROUTER)):
            self._ip(side, "addr", "add", f"{own}/24", "dev", "lab0")
            self._ip("middle", "addr", "add", f"{router}/24", "dev", f"{side}0")
            self._ip(side, "route", "add", "default", "via", router)
        _run(*self.command("middle", "sysctl", "-qw", "net.ipv4.ip_forward=1"))

    def _build_nat(self) -> None:
        self._build_router()
        chain = "{ type nat hook postrouting priority 100; }"
        _run(*self.command("middle", "nft", "add", "table", "ip", "lab"))
        _run(*self.command("middle", "nft", "add", "chain", "ip", "lab", "out", chain))
        _run(*self.command("middle", "nft", "add", "rule", "ip", "lab", "out", "oifname", "server0", "masquerade"))

    def _build_vxlan(self) -> None:
        self._bridge()
        for side, other, inner in (("client", "server", CLIENT), ("server", "client", SERVER)):
            self._ip(side, "addr", "add", f"{_OUTSIDE[side]}/24", "dev", "lab0")
            ends = ("local", _OUTSIDE[side], "remote", _OUTSIDE[other], "dstport", "4789", "dev", "lab0")
            self._ip(side, "link", "add", "vxlan0", "type", "vxlan", "id", "42", *ends)
            self._ip(side, "addr", "add", f"{inner}/24", "dev", "vxlan0")
            self._ip(side, "link", "set", "vxlan0", "mtu", str(_MTU), "up")

    def _build_path(self) -> None:
        assert self.topology.kind in WRAPPINGS, self.topology.kind
        orders = PathOrders(
            client=self.names["client"],
            middle=self.names["middle"],
            server=self.names["server"],
            links=2 if self.topology.kind in BONDS else 1,
            wrapping=self.topology.kind,
            disturbance=self.topology.disturbance,
            jitter=self.topology.jitter,
        )
        file = self.directory / "path.json"
        file.write_bytes(msgspec.json.encode(orders))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.path", str(file)], stdout=subprocess.PIPE, cwd=ROOT
        )
        self._stack.callback(self._path_ended, process)
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            raise RuntimeError("the path did not start")
        macs = {"client": "02:00:00:00:01:01", "server": "02:00:00:00:01:02"}
        mtu = str(_MTU if self.topology.kind in ("plain", "zeroed ids", *BONDS) else _TUNNEL_MTU)
        for side, own, other, far in (("client", CLIENT, "server", SERVER), ("server", SERVER, "client", CLIENT)):
            self._ip(side, "link", "set", "tap0", "address", macs[side], "mtu", mtu, "up")
            self._ip(side, "addr", "add", f"{own}/24", "dev", "tap0")
            self._ip(side, "neigh", "replace", far, "lladdr", macs[other], "dev", "tap0")

    def _path_ended(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGTERM)
        report_text, _ = process.communicate(timeout=20)
        self.path = json.loads(report_text)


def _end(process: subprocess.Popen[bytes]) -> None:
    _terminate(process)
    if process.stderr is not None:
        process.stderr.close()


def _terminate(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
