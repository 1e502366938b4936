"""Link layers: from a captured frame to where IP begins. The usual Ethernet, IPv4, TCP frame takes a short cut.

Numbers are those of https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TypeAlias

from jsdoctor.parse.packets.ip import CONGESTION, NoSegment, decode_ip, timestamp
from jsdoctor.parse.packets.segment import Segment

Decoder: TypeAlias = Callable[[bytes, int, int, int], Segment | NoSegment]
"""Decodes the frame in `block[start:end]`, which was `length` bytes long on the wire."""

ETHERNET = 1
_IPV4, _IPV6, _PPPOE = 0x0800, 0x86DD, 0x8864
_VLANS = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))
_MPLS = frozenset((0x8847, 0x8848))
_MOST_TAGS = 8
_PLACE = Struct(">II")

_COMMON = Struct(">12xHBBHHHBB2x12sIIHH4xII").unpack_from
_COMMON_SIZE = 62
"""Ethernet, IPv4 without options, TCP, and the first 8 bytes behind: the usual place of timestamps."""
_NOP_NOP_TIMESTAMPS = 0x0101080A


def decode_ethernet(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """A frame of Ethernet, with or without VLAN tags."""
    if end - start >= _COMMON_SIZE:
        fields = _COMMON(block, start)
        kind, version, service, total, ip_id, fragment, hops, protocol, key = fields[:9]
        if kind == _IPV4 and version == 0x45 and protocol == 6 and total and not fragment & 0x3FFF:
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
    return _by_type(block, start + 12, end, start + length)


def _by_type(block: bytes, at: int, end: int, wire_end: int, interface: int = 0) -> Segment | NoSegment:
    """What follows an Ethernet type at `at`: tags, then IP."""
    kind, at = block[at] << 8 | block[at + 1], at + 2
    vlan = 0
    for _ in range(_MOST_TAGS):
        if kind not in _VLANS:
            break
        if at + 4 > end:
            return NoSegment.CUT
        vlan = (vlan << 12 | (block[at] & 0x0F) << 8 | block[at + 1]) & 0xFFFFFFFF
        kind, at = block[at + 2] << 8 | block[at + 3], at + 4
    if kind in _MPLS:
        while at + 4 <= end and not block[at + 2] & 1:
            at += 4
        at += 4
    elif kind == _PPPOE:
        at += 8
    elif kind not in {_IPV4, _IPV6}:
        return NoSegment.OTHER
    return _placed(decode_ip(block, at, end, wire_end), interface, vlan)


def _placed(segment: Segment | NoSegment, interface: int, vlan: int) -> Segment | NoSegment:
    """The same connection at two places of one capture is told apart by its key."""
    if isinstance(segment, NoSegment) or not (interface or vlan):
        return segment
    return (segment[0] + _PLACE.pack(interface, vlan), *segment[1:])


def _sll(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """LINUX_SLL: 16 bytes, the type last."""
    return NoSegment.CUT if end - start < 16 else _by_type(block, start + 14, end, start + length)


def _sll2(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """LINUX_SLL2: 20 bytes, the type first, then the index of the interface."""
    if end - start < 20:
        return NoSegment.CUT
    interface = int.from_bytes(block[start + 4 : start + 8], "big")
    if block[start : start + 2] in {b"\x08\x00", b"\x86\xdd"}:
        return _placed(decode_ip(block, start + 20, end, start + length), interface, 0)
    if int.from_bytes(block[start : start + 2], "big") not in _VLANS or end - start < 24:
        return NoSegment.OTHER
    vlan = int.from_bytes(block[start + 20 : start + 22], "big") & 0x0FFF
    return _placed(decode_ip(block, start + 24, end, start + length), interface, vlan)


def _null(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """NULL and LOOP: 4 bytes of address family in some byte order; the version is in the IP header as well."""
    return decode_ip(block, start + 4, end, start + length)


def _raw(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
    """IP at once."""
    return decode_ip(block, start, end, start + length)


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

    `peel` is asked when the link type is not known here.
    """
    inner = DECODERS.get(link) or (_peeled(peel) if peel else unknown)
    if not interface:
        return inner

    def placed(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
        segment = inner(block, start, end, length)
        if isinstance(segment, NoSegment):
            return segment
        key = segment[0]
        if len(key) in {12, 36}:
            return (key + _PLACE.pack(interface, 0), *segment[1:])
        own, vlan = _PLACE.unpack(key[-8:])
        return (key[:-8] + _PLACE.pack((interface << 16) + own & 0xFFFFFFFF, vlan), *segment[1:])

    return placed


def _peeled(peel: Peel) -> Decoder:
    def decode(block: bytes, start: int, end: int, length: int) -> Segment | NoSegment:
        begins = peel(block[start:end])
        return NoSegment.OTHER if begins is None else decode_ip(block, start + begins, end, start + length)

    return decode
