"""Damage for captures: bits, lengths, times, records lost, doubled and swapped, and files cut short."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random

_HEADER, _RECORD = 24, 16


@dataclass(slots=True)
class Records:
    """A classic capture taken apart: its header, and each packet with its record header."""

    header: bytes
    packets: list[bytearray]

    @classmethod
    def of(cls, content: bytes, most: int = 400) -> Records:
        """At most so many packets: what breaks a reader breaks it early."""
        packets: list[bytearray] = []
        at = _HEADER
        while at + _RECORD <= len(content) and len(packets) < most:
            (captured,) = struct.unpack_from("<I", content, at + 8)
            packets.append(bytearray(content[at : at + _RECORD + captured]))
            at += _RECORD + captured
        return cls(content[:_HEADER], packets)

    def content(self) -> bytes:
        """The file again."""
        return self.header + b"".join(self.packets)


def mutated(content: bytes, chance: Random) -> bytes:
    """One capture with one to six kinds of damage."""
    records = Records.of(content, most=chance.choice((8, 40, 150, 400)))
    if chance.random() < 0.3:  # begun in the middle
        del records.packets[: chance.randrange(max(len(records.packets) - 3, 1))]
    for _ in range(chance.randint(1, 6)):
        if records.packets:
            chance.choice(_KINDS)(records, chance)
    whole = bytearray(records.content())
    if chance.random() < 0.15:
        del whole[chance.randrange(len(whole)) :]
    if chance.random() < 0.1 and whole:
        whole[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
    return bytes(whole)


def _some(records: Records, chance: Random) -> list[bytearray]:
    return chance.choices(records.packets, k=chance.randint(1, max(1, len(records.packets) // 8)))


def _flip_headers(records: Records, chance: Random) -> None:
    for packet in _some(records, chance):
        end = min(len(packet), _RECORD + 70)
        if end > _RECORD:
            packet[chance.randrange(_RECORD, end)] = chance.randrange(256)


def _flip_payload(records: Records, chance: Random) -> None:
    for packet in _some(records, chance):
        if len(packet) > _RECORD + 66:
            packet[chance.randrange(_RECORD + 66, len(packet))] = chance.randrange(256)


def _move_times(records: Records, chance: Random) -> None:
    for packet in _some(records, chance):
        struct.pack_into("<I", packet, chance.choice((0, 4)), chance.choice((0, 1, 2**31, 2**32 - 1, 1_790_000_000)))


def _step_clock(records: Records, chance: Random) -> None:
    begins, by = chance.randrange(len(records.packets)), chance.choice((-86_400, -3600, -2, 2, 90, 3600, 10**8))
    for packet in records.packets[begins:]:
        (seconds,) = struct.unpack_from("<I", packet, 0)
        struct.pack_into("<I", packet, 0, (seconds + by) % 2**32)


def _lose(records: Records, chance: Random) -> None:
    share = chance.random() * 0.5
    records.packets = [packet for packet in records.packets if chance.random() > share]


def _double(records: Records, chance: Random) -> None:
    share = chance.random()
    records.packets = [
        packet
        for original in records.packets
        for packet in ([original, bytearray(original)] if chance.random() < share else [original])
    ]


def _shuffle(records: Records, chance: Random) -> None:
    reach = chance.choice((2, 10, 100))
    order = sorted(range(len(records.packets)), key=lambda index: index + chance.random() * reach)
    records.packets = [records.packets[index] for index in order]


def _one_direction(records: Records, chance: Random) -> None:
    port = struct.pack(">H", 4222)
    forward = chance.random() < 0.5
    records.packets = [packet for packet in records.packets if (packet[_RECORD + 34 : _RECORD + 36] == port) is forward]


def _cut_packets(records: Records, chance: Random) -> None:
    snaplen = chance.randint(0, 120)
    for packet in records.packets:
        if len(packet) > _RECORD + snaplen:
            del packet[_RECORD + snaplen :]
            struct.pack_into("<I", packet, 8, snaplen)


_KINDS = (
    *(_flip_headers, _flip_payload, _move_times, _step_clock, _lose, _double, _shuffle, _one_direction, _cut_packets),
)
