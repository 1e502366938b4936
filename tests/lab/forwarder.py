"""The middle of the network, and the captures at both ends: `python -m tests.lab.forwarder ORDERS.json`.

One process: it opens sockets in all three namespaces and then lives on them. Prints `ready` once packets pass. Ends on
SIGTERM, after having written both captures and the report.
"""

import heapq
import random
import select
import signal
import socket
import struct
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import msgspec

from tests.lab.namespaces import inside, leave_packets_alone
from tests.lab.plan import TO_CLIENT, TO_SERVER, Disturbance, Orders, Passed, Report

_ALL = 3  # ETH_P_ALL
_SOL_PACKET, _ADD_MEMBERSHIP, _PROMISCUOUS = 263, 1, 1
_RECEIVE_BUFFER_FORCE = 33
_TIMESTAMPNS = 35
_BUFFER = 64 << 20
_MAX = 70_000
_OUTGOING = 4
_AT_ONCE = 64
_COPY_AFTER_S = 0.0003


def _socket(namespace: str, interface: str) -> socket.socket:
    with inside(namespace):
        leave_packets_alone(interface)
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        made.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
        made.bind((interface, _ALL))
        request = struct.pack("iHH8s", socket.if_nametoindex(interface), _PROMISCUOUS, 0, b"")
    made.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, request)
    made.setblocking(False)
    return made


class Tap:
    """A capture at one end, with the times of the kernel."""

    def __init__(self, namespace: str, interface: str) -> None:
        self.socket = _socket(namespace, interface)
        self.socket.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
        self._records: list[bytes] = []

    def take(self) -> None:
        """Note what has come."""
        for _ in range(_AT_ONCE):
            try:
                frame, extra, _, _ = self.socket.recvmsg(_MAX, 64)
            except BlockingIOError:
                return
            if tcp_length(frame) is None:
                continue
            seconds, nanos = struct.unpack("qq", extra[0][2])
            self._records.append(struct.pack("<IIII", seconds, nanos, len(frame), len(frame)) + frame)

    def write(self, path: Path) -> None:
        """The capture as a file with nanoseconds."""
        header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
        path.write_bytes(header + b"".join(self._records))


class Forwarder:
    """Passes frames on between two interfaces of the middle."""

    def __init__(self, orders: Orders) -> None:
        self._disturbance: Disturbance = orders.disturbance
        self._chance = random.Random(orders.disturbance.seed)  # noqa: S311 - seeded on purpose
        self._in = {TO_SERVER: _socket(orders.middle, "to_client"), TO_CLIENT: _socket(orders.middle, "to_server")}
        self._out = {TO_SERVER: self._in[TO_CLIENT], TO_CLIENT: self._in[TO_SERVER]}
        self._waiting: list[tuple[float, int, str, int, int, bytes]] = []
        self._arrived: dict[str, list[bytes]] = defaultdict(list)
        self._dropped: Counter[str] = Counter()
        self._passed: list[Passed] = []
        self._count = 0

    @property
    def sockets(self) -> list[socket.socket]:
        """Where frames come in."""
        return list(self._in.values())

    def send_due(self) -> float:
        """Send what is due, and return after how many seconds there will be more."""
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, direction, number, copy, frame = heapq.heappop(self._waiting)
            try:
                self._out[direction].send(frame)
            except OSError:
                continue  # the buffer is full, or the interface is gone: then it was lost for good
            if number >= 0:
                self._passed.append(Passed(direction, number, copy, frame[14:]))
        return min(0.05, max(0.0, self._waiting[0][0] - now)) if self._waiting else 0.05

    def take(self) -> None:
        """Take in what has come, and decide what becomes of it."""
        for direction, source in self._in.items():
            for _ in range(_AT_ONCE):
                try:
                    frame, address = source.recvfrom(_MAX)
                except BlockingIOError:
                    break
                if address[2] != _OUTGOING:
                    self._decide(direction, frame)

    def _decide(self, direction: str, frame: bytes) -> None:
        plan, chance = self._disturbance, self._chance
        length, delay_ms, copies, number = tcp_length(frame), plan.delay, 1, -1
        if length is not None:
            number = len(self._arrived[direction])
            self._arrived[direction].append(frame[14:])
            if plan.largest and length > plan.largest:
                self._dropped[direction] += 1
                return
            if direction in plan.directions and (length or not plan.data_only):
                draw = chance.random()
                if draw < plan.lost:
                    self._dropped[direction] += 1
                    return
                if draw < plan.lost + plan.reordered:
                    delay_ms += chance.uniform(*plan.late)
                elif draw < plan.lost + plan.reordered + plan.duplicated:
                    copies = 2
        due = time.monotonic() + delay_ms / 1000
        for copy in range(copies):
            self._count += 1
            entry = (due + copy * _COPY_AFTER_S, self._count, direction, number, copy, frame)
            heapq.heappush(self._waiting, entry)

    def report(self) -> Report:
        """What was done."""
        return Report(dict(self._dropped), self._passed, dict(self._arrived))


def tcp_length(frame: bytes) -> int | None:
    """Bytes of payload of a frame of Ethernet with TCP, else None."""
    if frame[12:14] == b"\x08\x00" and frame[23] == 6:
        header = (frame[14] & 15) * 4
        return int.from_bytes(frame[16:18], "big") - header - (frame[14 + header + 12] >> 4) * 4
    if frame[12:14] == b"\x86\xdd" and frame[20] == 6:
        return int.from_bytes(frame[18:20], "big") - (frame[66] >> 4) * 4
    return None


def main(orders_file: str) -> None:
    """Run until SIGTERM."""
    orders = msgspec.json.decode(Path(orders_file).read_bytes(), type=Orders)
    forwarder = Forwarder(orders)
    taps = {"client": Tap(orders.client, "lab0"), "server": Tap(orders.server, "lab0")}
    over = False

    def stop(*_: object) -> None:
        nonlocal over
        over = True

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)  # noqa: T201 - whoever started this waits for it
    reading = [*forwarder.sockets, *(tap.socket for tap in taps.values())]
    while not over:
        select.select(reading, [], [], forwarder.send_due())
        forwarder.take()
        for tap in taps.values():
            tap.take()
    for tap in taps.values():
        tap.take()
    for side, tap in taps.items():
        tap.write(Path(orders.directory) / f"{side}.pcap")
    (Path(orders.directory) / "report.msgpack").write_bytes(msgspec.msgpack.encode(forwarder.report()))


if __name__ == "__main__":
    main(sys.argv[1])
