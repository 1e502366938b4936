"""Link layers: from a captured frame to where IP begins. The usual Ethernet, IPv4, TCP frame takes a short cut.

Numbers are those of https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TypeAlias

from jsdoctor.parse.packets.ip import CONGESTION, NoSegment, timestamp
from jsdoctor.parse.packets.keys import UNKNOWN_PLACE, outgoing, place
from jsdoctor.parse.packets.network import IPV4, VLANS, decode_network, decode_typed, placed
from jsdoctor.parse.packets.segment import Segment

Decoder: TypeAlias = Callable[[bytes, int, int, int], Segment | NoSegment]
"""Decodes the frame in `block[start:end]`, which was `length` bytes long on the wire."""

ETHERNET = 1

_COMMON = Struct(">12xHBBHHHBB2x12sIIHH4xII").unpack_from
_COMMON_SIZE = 62
"""Ethernet, IPv4 without options, TCP, and the first 8 bytes behind: the usual place of timestamps."""
_NOP_NOP_TIMESTAMPS = 0x0101080A
_SENT_BY_HOST = 4


def decode_ethernet(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """A frame of Ethernet, with or without VLAN tags."""
    if end - start >= _COMMON_SIZE:
        fields = _COMMON(block, start)
        kind, version, service, total, ip_id, fragment, hops, protocol, key = fields[:9]
        if kind == IPV4 and version == 0x45 and protocol == 6 and total and not fragment & 0x3FFF:
            tcp_seq, tcp_ack, offset_and_flags, window, option, ts_val = fields[9:]
            header = offset_and_flags >> 12 << 2
            payload_at = start + 34 + header
            payload = total - 20 - header
            if header >= 20 and payload >= 0:
                if header < 32 or option != _NOP_NOP_TIMESTAMPS:
                    ts_val = timestamp(block, start + 54, min(payload_at, end)) if header > 20 else -1
                captured = payload if payload_at + payload <= end else max(end - payload_at, 0)
                return (
                    *(key, tcp_seq, tcp_ack, offset_and_flags & 0xFF, window, start + 54, payload_at),
                    *(captured, payload, ip_id, ts_val, hops, service & CONGESTION == CONGESTION),
                )
    elif end - start < 14:
        return NoSegment.CUT
    return decode_typed(block, start + 12, end, start + length)


def _sll(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """LINUX_SLL: 16 bytes, the type last. It does not name the interface, but says whether the host sends the frame."""
    if end - start < 16:
        return NoSegment.CUT
    segment = decode_typed(block, start + 14, end, start + length, UNKNOWN_PLACE)
    if isinstance(segment, NoSegment) or block[start + 1] != _SENT_BY_HOST:
        return segment
    return (outgoing(segment[0]), *segment[1:])


def _sll2(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """LINUX_SLL2: 20 bytes, the type first, then the index of the interface."""
    if end - start < 20:
        return NoSegment.CUT
    interface = int.from_bytes(block[start + 4 : start + 8], "big")
    if block[start : start + 2] in {b"\x08\x00", b"\x86\xdd"}:
        return placed(decode_network(block, start + 20, end, start + length), interface, 0)
    if int.from_bytes(block[start : start + 2], "big") not in VLANS or end - start < 24:
        return NoSegment.OTHER
    vlan = int.from_bytes(block[start + 20 : start + 22], "big") & 0x0FFF
    return placed(decode_network(block, start + 24, end, start + length), interface, vlan)


def _null(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """NULL and LOOP: 4 bytes of address family in some byte order; the version is in the IP header as well."""
    return decode_network(block, start + 4, end, start + length)


def _raw(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """IP at once."""
    return decode_network(block, start, end, start + length)


def unknown(_block: bytes, _start: int, _end: int, _length: int) -> NoSegment:
    """A link layer that is not known here."""
    return NoSegment.UNKNOWN_LINK


DECODERS: Mapping[int, Decoder] = {
    0: _null,
    ETHERNET: decode_ethernet,
    12: _raw,
    14: _raw,
    101: _raw,
    108: _null,
    113: _sll,
    228: _raw,
    229: _raw,
    276: _sll2,
}
"""What can be decoded here, by link type."""

LINK_NAMES: Mapping[int, str] = {
    0: "NULL",
    ETHERNET: "Ethernet",
    12: "raw IP",
    14: "raw IP",
    101: "raw IP",
    108: "LOOP",
    113: "Linux cooked v1",
    228: "IPv4",
    229: "IPv6",
    276: "Linux cooked v2",
}


Peel: TypeAlias = Callable[[bytes], int | None]
"""Says where IP begins in a frame, or None when there is none."""


def decoder(link: int, interface: int, peel: Peel | None = None) -> Decoder:
    """The decoder of frames of that link type; `interface` counts the interfaces of one capture from 0.

    `peel` is called when the link type is not known here.
    """
    inner = DECODERS.get(link) or (_peeled(peel) if peel else unknown)
    if not interface:
        return inner

    def at_interface(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
        segment = inner(block, start, end, length)
        if isinstance(segment, NoSegment):
            return segment
        own = place(segment[0])[0]
        return placed(segment, (interface << 16) + own & 0xFFFFFFFF, 0)

    return at_interface


def _peeled(peel: Peel) -> Decoder:
    def decode(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
        begins = peel(block[start:end])
        return NoSegment.OTHER if begins is None else decode_network(block, start + begins, end, start + length)

    return decode
