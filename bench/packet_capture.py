"""Captures of any size, the same for the same seed: clients that publish to JetStream, with losses and reordering.

    python -m bench.packet_capture FILE --megabytes 200 [--snaplen 96 --connections 20 --seed 1]

Headers are those of Linux: IPv4 ids that count per connection, timestamps of 1 ms. Payload is NATS protocol: publishes
of 1,000 bytes and their PubAcks.
"""

from __future__ import annotations

import argparse
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MEGABYTE = 1_000_000
_SEGMENT = 1448
_KNOWN_AFTER = 20
"""Before so many publishes nothing is planted: ids of a connection tell nothing yet."""

_STEP_US = 20
_START_US = 1_790_000_000_000_000
_RECORD = struct.Struct("<IIII")
_HEADERS = struct.Struct(">6s6sHBBHHHBBH4s4sHHIIHHHHIII")
_SERVER = b"\x0a\x00\x00\x01"
_PORT = 4222
_NOP_NOP_TIMESTAMPS = 0x0101080A
_ACK, _PUSH_ACK = 0x8010, 0x8018
_SYN, _SYN_ACK = 0x8002, 0x8012
_INFO = b'INFO {"server_name":"bench","version":"2.15.1","headers":true,"max_payload":1048576} \r\n'
_CONNECT = b'CONNECT {"verbose":false,"lang":"python3","version":"2.16.0","name":"bench"}\r\nPING\r\n'


@dataclass(frozen=True, slots=True)
class CapturePlan:
    """What to write. `lost` and `reordered` are shares of data segments."""

    megabytes: int
    snaplen: int = 262_144
    connections: int = 20
    seed: int = 1
    lost: float = 0.002
    reordered: float = 0.002


@dataclass(frozen=True, slots=True)
class Written:
    """What is in the file: packets, and segments of either kind that were planted."""

    packets: int
    lost: int
    reordered: int


@dataclass(slots=True)
class _Side:
    address: bytes
    port: int
    seq: int
    ip_id: int


@dataclass(slots=True)
class _Link:
    """One connection, and what of its stream was not sent yet."""

    client: _Side
    server: _Side
    number: int
    published: int = 0
    stream: bytearray = field(default_factory=bytearray)


class _Writer:
    def __init__(self, plan: CapturePlan) -> None:
        self._plan = plan
        self._chance = random.Random(plan.seed)  # noqa: S311 - the same again is what is wanted
        self.clock_us = _START_US
        self.lost = self.reordered = 0

    def bursts(self) -> Iterator[Iterator[bytes]]:
        """Packets without end, in the order of the capture; a file may end after any burst."""
        chance = self._chance
        links = [
            _Link(
                _Side(bytes((10, 0, 1 + number // 250, 1 + number % 250)), 40_000 + number, chance.randrange(2**32), 1),
                _Side(_SERVER, _PORT, chance.randrange(2**32), 1),
                number,
            )
            for number in range(self._plan.connections)
        ]
        for link in links:
            yield self._opening(link)
        while True:
            yield self._burst(chance.choice(links))

    def _opening(self, link: _Link) -> Iterator[bytes]:
        yield self._packet(link.client, link.server, _SYN)
        link.client.seq += 1
        yield self._packet(link.server, link.client, _SYN_ACK)
        link.server.seq += 1
        yield self._packet(link.client, link.server, _ACK)
        yield self._packet(link.server, link.client, _PUSH_ACK, _INFO)
        yield self._packet(link.client, link.server, _PUSH_ACK, _CONNECT)
        yield self._packet(link.server, link.client, _PUSH_ACK, b"PONG\r\n")

    def _burst(self, link: _Link) -> Iterator[bytes]:
        """Some publishes in segments, the acks of the server, its PubAcks and their ack."""
        chance, plan = self._chance, self._plan
        first = link.published
        link.published += chance.randrange(1, 12)
        for number in range(first, link.published):
            header = b"PUB ORDERS.new _INBOX.%04d.%08d 1000\r\n" % (link.number, number)
            link.stream += header + b"%08d" % number + b"x" * 992 + b"\r\n"
        segments = []
        while link.stream:
            segments.append(bytes(link.stream[:_SEGMENT]))
            del link.stream[:_SEGMENT]
        sent = [self._packet(link.client, link.server, _PUSH_ACK, payload) for payload in segments]
        again = b""
        odd = first > _KNOWN_AFTER and len(sent) > 4
        if odd and chance.random() < plan.reordered * len(sent):
            sent.insert(4, sent.pop(1))
            self.reordered += 1
        elif odd and chance.random() < plan.lost * len(sent):
            del sent[1]
            link.client.seq -= sum(map(len, segments[1:]))
            again = self._packet(link.client, link.server, _PUSH_ACK, segments[1], later_ms=5)
            link.client.seq += sum(map(len, segments[2:]))
            self.lost += 1
        yield from sent
        if again:
            yield again
        for _ in range((len(segments) + 1) // 2):
            yield self._packet(link.server, link.client, _ACK)
        replies = b"".join(self._reply(link, number) for number in range(first, link.published))
        yield self._packet(link.server, link.client, _PUSH_ACK, replies)
        yield self._packet(link.client, link.server, _ACK)

    def _reply(self, link: _Link, number: int) -> bytes:
        body = b'{"stream":"ORDERS","seq":%d}' % (1_000_000 * link.number + number + 1)
        return b"MSG _INBOX.%04d.%08d 1 %d\r\n%b\r\n" % (link.number, number, len(body), body)

    def _packet(self, source: _Side, to: _Side, flags: int, payload: bytes = b"", later_ms: int = 0) -> bytes:
        source.ip_id = source.ip_id + 1 & 0xFFFF
        clock_ms = (self.clock_us // 1000 + later_ms) & 0xFFFF_FFFF
        headers = _HEADERS.pack(
            *(b"\x02\x00\x00\x00\x00\x01", b"\x02\x00\x00\x00\x00\x02", 0x0800),
            *(0x45, 0, 52 + len(payload), source.ip_id, 0x4000, 64, 6, 0, source.address, to.address),
            *(source.port, to.port, source.seq & 0xFFFF_FFFF, 0 if flags == _SYN else to.seq & 0xFFFF_FFFF),
            *(flags, 512, 0, 0, _NOP_NOP_TIMESTAMPS, clock_ms, clock_ms),
        )
        source.seq += len(payload)
        return headers + payload


def write_capture(path: Path, plan: CapturePlan) -> Written:
    """Write it; what is in it."""
    writer = _Writer(plan)
    written, packets = 24, 0
    with path.open("wb", buffering=MEGABYTE) as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, plan.snaplen, 1))
        for burst in writer.bursts():
            for frame in burst:
                writer.clock_us += _STEP_US
                kept = frame[: plan.snaplen]
                seconds, micros = divmod(writer.clock_us, 1_000_000)
                file.write(_RECORD.pack(seconds, micros, len(kept), len(frame)) + kept)
                written += 16 + len(kept)
                packets += 1
            if written >= plan.megabytes * MEGABYTE:
                break
    return Written(packets, writer.lost, writer.reordered)


def main() -> None:
    """Write one file and say what is in it."""
    parser = argparse.ArgumentParser(description="Write a packet capture.")
    parser.add_argument("file", type=Path)
    for name, default in (("megabytes", 200), ("snaplen", 262_144), ("connections", 20), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    plan = CapturePlan(options.megabytes, options.snaplen, options.connections, options.seed)
    print(write_capture(options.file, plan))


if __name__ == "__main__":
    main()
