"""IP and TCP headers: from the place in a block where IP begins to one decoded segment."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import TypeAlias

from jsdoctor.parse.packets.segment import Segment


class NoSegment(IntEnum):
    """Why a packet yields no TCP segment."""

    OTHER = 0
    CUT = 1
    FRAGMENT = 2
    TUNNEL = 3
    UNKNOWN_LINK = 4


_TCP = Struct(">II HH")
_OPTION = Struct(">I").unpack_from
_TCP_PROTOCOL, _UDP = 6, 17
_TUNNELS = frozenset((4, 41, 47, 50, 137))  # IPv4 and IPv6 inside IP, GRE, ESP, MPLS
_TUNNEL_PORTS = frozenset((b"\x12\xb5", b"\x21\x18", b"\x17\xc1"))
"""Where UDP carries Ethernet or IP: VXLAN (4789, Linux: 8472), GENEVE (6081)."""
_FRAGMENT_HEADER, _AUTHENTICATION_HEADER = 44, 51
_EXTENSIONS = frozenset((0, 43, 60, 135, 139, 140, _FRAGMENT_HEADER, _AUTHENTICATION_HEADER))
_MAX_EXTENSIONS = 8
_TIMESTAMPS, _TIMESTAMPS_LENGTH = 8, 10
CONGESTION = 3
_IpHeader: TypeAlias = tuple[bytes, int, int, bool]
"""Addresses, id or -1, hops left, whether a router marked it."""


def decode_ip(block: bytes, at: int, end: int, wire_end: int) -> Segment | NoSegment:
    """Decode what begins at `at`. Captured bytes end at `end`; on the wire the packet went on until `wire_end`."""
    if at >= end:
        return NoSegment.CUT
    version = block[at] >> 4
    if version == 4:
        return _decode_ipv4(block, at, end, wire_end)
    if version == 6:
        return _decode_ipv6(block, at, end, wire_end)
    return NoSegment.OTHER


def _decode_ipv4(block: bytes, at: int, end: int, wire_end: int) -> Segment | NoSegment:
    if end - at < 20:
        return NoSegment.CUT
    header = (block[at] & 15) * 4
    protocol = block[at + 9]
    if header < 20:
        return NoSegment.OTHER
    if (block[at + 6] & 0x1F) << 8 | block[at + 7]:
        return NoSegment.FRAGMENT if protocol in {_TCP_PROTOCOL, *_TUNNELS} else NoSegment.OTHER
    if protocol != _TCP_PROTOCOL:
        return _no_tcp(protocol, block, at + header)
    total = block[at + 2] << 8 | block[at + 3]
    ip_end = at + total if total else wire_end  # 0: left to the network card, or too long for 16 bits
    ip_id = block[at + 4] << 8 | block[at + 5]
    addresses = block[at + 12 : at + 20]
    congested = block[at + 1] & CONGESTION == CONGESTION
    return _decode_tcp(block, at + header, end, ip_end, (addresses, ip_id, block[at + 8], congested))


def _decode_ipv6(block: bytes, at: int, end: int, wire_end: int) -> Segment | NoSegment:
    if end - at < 40:
        return NoSegment.CUT
    payload = block[at + 4] << 8 | block[at + 5]
    ip_end = at + 40 + payload if payload else wire_end  # 0: a jumbogram, or left to the network card
    result = _behind_extensions(block, at, end)
    if isinstance(result, NoSegment):
        return result
    protocol, position = result
    if protocol != _TCP_PROTOCOL:
        return _no_tcp(protocol, block, position)
    addresses = block[at + 8 : at + 40]
    congested = (block[at + 1] >> 4) & CONGESTION == CONGESTION
    return _decode_tcp(block, position, end, ip_end, (addresses, -1, block[at + 7], congested))


def upper_layer(block: bytes, at: int, end: int) -> tuple[int, int]:
    """The protocol inside an IP packet that `decode_ip` took for one of a tunnel, and where it begins."""
    if block[at] >> 4 == 4:
        return block[at + 9], at + (block[at] & 15) * 4
    result = _behind_extensions(block, at, end)
    return (-1, at) if isinstance(result, NoSegment) else result


def _no_tcp(protocol: int, block: bytes, at: int) -> NoSegment:
    """A tunnel, as far as its header shows one; `at` is where the header of that protocol begins."""
    if protocol in _TUNNELS or (protocol == _UDP and block[at + 2 : at + 4] in _TUNNEL_PORTS):
        return NoSegment.TUNNEL
    return NoSegment.OTHER


def _behind_extensions(block: bytes, at: int, end: int) -> tuple[int, int] | NoSegment:
    """The protocol behind the extension headers of IPv6, and where it begins."""
    protocol, position = block[at + 6], at + 40
    for _ in range(_MAX_EXTENSIONS):
        if protocol not in _EXTENSIONS:
            break
        if position + 8 > end:
            return NoSegment.CUT
        if protocol == _FRAGMENT_HEADER:
            if block[position + 2] << 8 | block[position + 3] & 0xF8:
                return NoSegment.FRAGMENT
            size = 8
        elif protocol == _AUTHENTICATION_HEADER:
            size = (block[position + 1] + 2) * 4
        else:
            size = (block[position + 1] + 1) * 8
        protocol = block[position]
        position += size
    return protocol, position


def _decode_tcp(block: bytes, at: int, end: int, ip_end: int, header: _IpHeader) -> Segment | NoSegment:
    addresses, ip_id, hops, congested = header
    if end - at < 20:
        return NoSegment.CUT
    tcp_seq, tcp_ack, offset_and_flags, window = _TCP.unpack_from(block, at + 4)
    payload_at = at + (offset_and_flags >> 12) * 4
    length = ip_end - payload_at
    if payload_at < at + 20 or length < 0:
        return NoSegment.OTHER
    captured = max(min(end, ip_end) - payload_at, 0)
    ts_val = timestamp(block, at + 20, min(payload_at, end))
    key = addresses + block[at : at + 4]
    flags = offset_and_flags & 0xFF
    return key, tcp_seq, tcp_ack, flags, window, at + 20, payload_at, captured, length, ip_id, ts_val, hops, congested


def timestamp(block: bytes, at: int, end: int) -> int:
    """TSval among TCP options in `at <= position < end`, or -1 (RFC 7323)."""
    while at < end:
        kind = block[at]
        if kind == 1:
            at += 1
            continue
        if kind == 0 or at + 1 >= end:
            return -1
        size = block[at + 1]
        if kind == _TIMESTAMPS and size == _TIMESTAMPS_LENGTH and at + size <= end:
            return int(_OPTION(block, at + 2)[0])
        if size < 2:
            return -1
        at += size
    return -1
