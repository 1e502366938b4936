"""A path in user space between two hosts: `python -m tests.lab.path ORDERS.json`. Prints `ready`; ends on SIGTERM.

Each host has a TAP device, as a virtual machine has, and one or two veth interfaces that lead to the middle. At the
hosts this process wraps what comes out of the TAP and sends it over the veth interfaces. In the middle it passes frames
on, and delays or drops them by a seeded choice. It prints how many packets of TCP it dropped and delayed past others.
"""

import fcntl
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.lab.forwarder import tcp_length
from tests.lab.namespaces import inside
from tests.lab.plan import Disturbance
from tests.lab.wrappings import WRAPPINGS

_IPV4 = b"\x08\x00"
_TUNSETIFF, _TAP_WITHOUT_INFO = 0x4004_54CA, 0x1002
_ALL, _MAX, _OUTGOING, _AT_ONCE = 3, 70_000, 4, 64
_SOL_PACKET, _ADD_MEMBERSHIP, _PROMISCUOUS = 263, 1, 1
_AUXDATA, _TP_STATUS_VLAN_VALID, _TP_STATUS_TPID_VALID = 8, 0x10, 0x40
_RECEIVE_BUFFER_FORCE, _BUFFER = 33, 64 << 20


class PathOrders(msgspec.Struct, frozen=True):
    """What is carried between which namespaces. `jitter`: up to so many ms more for every packet, in order."""

    client: str
    middle: str
    server: str
    links: int
    wrapping: str
    disturbance: Disturbance
    jitter: float = 0.0


def _tap(namespace: str) -> int:
    with inside(namespace):
        opened = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(opened, _TUNSETIFF, struct.pack("16sH", b"tap0", _TAP_WITHOUT_INFO))
    return opened


def _link(namespace: str, interface: str) -> socket.socket:
    with inside(namespace):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        made.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
        made.setsockopt(_SOL_PACKET, _AUXDATA, 1)
        made.bind((interface, _ALL))
        request = struct.pack("iHH8s", socket.if_nametoindex(interface), _PROMISCUOUS, 0, b"")
    made.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, request)
    made.setblocking(False)
    return made


def _received(link: socket.socket) -> Iterator[bytes]:
    """The frames that came in, with the VLAN tag that the kernel took off."""
    for _ in range(_AT_ONCE):
        try:
            frame, extra, _, address = link.recvmsg(_MAX, 64)
        except BlockingIOError:
            return
        if address[2] == _OUTGOING:
            continue
        for _, _, data in extra:
            status, _, _, _, _, tag, tpid = struct.unpack("IIIHHHH", data)
            if status & _TP_STATUS_VLAN_VALID:
                kind = tpid if status & _TP_STATUS_TPID_VALID else 0x8100
                frame = frame[:12] + struct.pack(">HH", kind, tag) + frame[12:]
        yield frame


class Carrier:
    """Carries frames both ways."""

    def __init__(self, orders: PathOrders) -> None:
        self._plan, self._jitter = orders.disturbance, orders.jitter
        self._chance = random.Random(self._plan.seed)  # noqa: S311 - seeded on purpose
        self._wrapping = WRAPPINGS[orders.wrapping]
        self._by_turns = orders.wrapping == "bond by turns"
        self.taps = {True: _tap(orders.client), False: _tap(orders.server)}
        numbers = range(orders.links)
        self.hosts = {
            True: [_link(orders.client, f"lab{number}") for number in numbers],
            False: [_link(orders.server, f"lab{number}") for number in numbers],
        }
        self.middle = {
            True: [_link(orders.middle, f"client{number}") for number in numbers],
            False: [_link(orders.middle, f"server{number}") for number in numbers],
        }
        self._waiting: list[tuple[float, int, socket.socket, bytes]] = []
        self._last = {True: 0.0, False: 0.0}
        self._number = 0
        self.done: Counter[str] = Counter()

    def sockets(self) -> list[int]:
        """Everything that frames come from."""
        links = [link for side in (self.hosts, self.middle) for links in side.values() for link in links]
        return [*self.taps.values(), *(link.fileno() for link in links)]

    def carry(self) -> float:
        """Carry what has come and what is due; seconds until more is due."""
        for to_server, tap in self.taps.items():
            self._leave(to_server, tap)
            for number, link in enumerate(self.middle[to_server]):
                for frame in _received(link):
                    self._decide(to_server, frame, self.middle[not to_server][number])
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, link, frame = heapq.heappop(self._waiting)
            link.send(frame)
            self.done["passed"] += 1
        for at_client, links in self.hosts.items():
            for frame in (frame for link in links for frame in _received(link)):
                inner = self._wrapping.take(frame)
                if inner is not None and inner[12:14] == _IPV4:
                    os.write(self.taps[at_client], inner)
        wait = self._waiting[0][0] - time.monotonic() if self._waiting else 0.05
        return min(0.05, max(0.0, wait))

    def _leave(self, to_server: bool, tap: int) -> None:
        """Wrap and send what a host has sent: over a link for each direction, or by turns."""
        links = self.hosts[to_server]
        for _ in range(_AT_ONCE):
            try:
                frame = os.read(tap, _MAX)
            except BlockingIOError:
                return
            if frame[12:14] == _IPV4:
                self._number += 1
                turn = self._number if self._by_turns else to_server
                links[turn % len(links)].send(self._wrapping.put(frame, to_server))

    def _decide(self, to_server: bool, frame: bytes, link: socket.socket) -> None:
        """What becomes of a frame in the middle."""
        plan, inner = self._plan, self._wrapping.take(frame)
        length = tcp_length(inner) if inner is not None else None
        now = time.monotonic()
        due = max(self._last[to_server], now + (plan.delay + self._chance.uniform(0, self._jitter)) / 1000)
        draw = self._chance.random() if length else 1.0
        if plan.largest and (length or 0) > plan.largest:
            self.done["too large"] += 1
            return
        if draw < plan.lost:
            self.done["lost"] += 1
            return
        if draw < plan.lost + plan.reordered:
            self.done["late"] += 1
            due += self._chance.uniform(*plan.late) / 1000
        else:
            self._last[to_server] = due
        self._number += 1
        heapq.heappush(self._waiting, (due, self._number, link, frame))


def main(orders_file: str) -> None:
    """Run until SIGTERM."""
    carrier = Carrier(msgspec.json.decode(Path(orders_file).read_bytes(), type=PathOrders))
    over = False

    def stop(*_: object) -> None:
        nonlocal over
        over = True

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)  # noqa: T201 - whoever started this waits for it
    wait = 0.05
    while not over:
        select.select(carrier.sockets(), [], [], wait)
        wait = carrier.carry()
    print(json.dumps(carrier.done), flush=True)  # noqa: T201 - whoever started this reads it


if __name__ == "__main__":
    main(sys.argv[1])
