"""Link layers, IP and TCP headers: from a captured frame to one decoded segment. The usual frame takes a short cut.

Numbers are those of https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from struct import Struct
from typing import TypeAlias

from jsdoctor.packets.segment import (
    GENEVE,
    GRE,
    IP_IN_IP,
    UNKNOWN_PLACE,
    VXLAN,
    Segment,
    outgoing,
    place,
    tunnel_tag,
)


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
    kind = int.from_bytes(block[start : start + 2], "big")
    if kind in {IPV4, _IPV6}:
        return placed(decode_network(block, start + 20, end, start + length), interface, 0)
    if kind not in VLANS:
        return NoSegment.OTHER
    if end - start < 24:
        return NoSegment.CUT
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


# From an Ethernet type or an IP header to a TCP segment: VLAN tags, MPLS, PPPoE, and tunnels of container networks.
#
# VXLAN (RFC 7348), GENEVE (RFC 8926), GRE (RFC 2784, 2890) with NVGRE and ERSPAN, IP in IP (RFC 2003, 4213). What is
# inside a tunnel is judged like any other connection; its key says through which tunnel it came.

IPV4, _IPV6, _PPPOE, _BRIDGED = 0x0800, 0x86DD, 0x8864, 0x6558
_MPLS = frozenset((0x8847, 0x8848))
VLANS = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))
_ERSPAN_2, _ERSPAN_3 = 0x88BE, 0x22EB
_UDP_PROTOCOL, _GRE, _IPV4_IN_IP, _IPV6_IN_IP = 17, 47, 4, 41
_VXLAN_PORTS = frozenset((4789, 8472))
_MAX_TAGS = 8
_MAX_TUNNELS = 3
_TAG_BITS = 0x00FF_FFFF
_PLACE = Struct(">II")
_SHORT = Struct(">H").unpack_from


def decode_typed(
    block: bytes, at: int, end: int, wire_end: int, interface: int = 0, *, tunnels: int = 0
) -> Segment | NoSegment:
    """What follows an Ethernet type at `at`: tags, then IP."""
    if at + 2 > end:
        return NoSegment.CUT
    kind, at = block[at] << 8 | block[at + 1], at + 2
    vlan = 0
    for _ in range(_MAX_TAGS):
        if kind not in VLANS:
            break
        if at + 4 > end:
            return NoSegment.CUT
        vlan = (vlan << 12 | (block[at] & 0x0F) << 8 | block[at + 1]) & _TAG_BITS
        kind, at = block[at + 2] << 8 | block[at + 3], at + 4
    if kind in _MPLS:
        while at + 4 <= end and not block[at + 2] & 1:
            at += 4
        at += 4
    elif kind == _PPPOE:
        at += 8
    elif kind not in {IPV4, _IPV6}:
        return NoSegment.OTHER
    return placed(decode_network(block, at, end, wire_end, tunnels=tunnels), interface, vlan)


def decode_network(block: bytes, at: int, end: int, wire_end: int, *, tunnels: int = 0) -> Segment | NoSegment:
    """An IP packet, or the packet inside it when it is that of a tunnel."""
    segment = decode_ip(block, at, end, wire_end)
    if segment is not NoSegment.TUNNEL or tunnels >= _MAX_TUNNELS:
        return segment
    protocol, begins = upper_layer(block, at, end)
    if protocol == _UDP_PROTOCOL:
        return _inside_udp(block, begins, end, wire_end, tunnels + 1)
    if protocol == _GRE:
        return _inside_gre(block, begins, end, wire_end, tunnels + 1)
    if protocol in {_IPV4_IN_IP, _IPV6_IN_IP}:
        inner = decode_network(block, begins, end, wire_end, tunnels=tunnels + 1)
        return placed(inner, 0, tunnel_tag(IP_IN_IP, 0))
    return segment


def _inside_udp(block: bytes, at: int, end: int, wire_end: int, tunnels: int) -> Segment | NoSegment:
    if at + 16 > end:
        return NoSegment.CUT
    identifier = int.from_bytes(block[at + 12 : at + 15], "big")
    if _SHORT(block, at + 2)[0] in _VXLAN_PORTS:
        if not block[at + 8] & 0x08:
            return NoSegment.OTHER
        inner = decode_typed(block, at + 16 + 12, end, wire_end, tunnels=tunnels)
        return placed(inner, 0, tunnel_tag(VXLAN, identifier))
    begins = at + 16 + (block[at + 8] & 0x3F) * 4
    kind = _SHORT(block, at + 10)[0]
    if kind == _BRIDGED:
        inner = decode_typed(block, begins + 12, end, wire_end, tunnels=tunnels)
    elif kind in {IPV4, _IPV6}:
        inner = decode_network(block, begins, end, wire_end, tunnels=tunnels)
    else:
        return NoSegment.OTHER
    return placed(inner, 0, tunnel_tag(GENEVE, identifier))


def _inside_gre(block: bytes, at: int, end: int, wire_end: int, tunnels: int) -> Segment | NoSegment:
    if at + 4 > end:
        return NoSegment.CUT
    flags, kind = block[at], _SHORT(block, at + 2)[0]
    if block[at + 1] & 7:
        return NoSegment.TUNNEL  # PPTP
    begins = at + 4
    if flags & 0x80:  # checksum
        begins += 4
    key = 0
    if flags & 0x20:
        key = int.from_bytes(block[begins : begins + 4], "big")
        begins += 4
    if flags & 0x10:  # sequence number
        begins += 4
    if kind == _ERSPAN_2:
        begins += 8 if flags & 0x10 else 0
        kind = _BRIDGED
    elif kind == _ERSPAN_3:
        begins += 12
        kind = _BRIDGED
    if kind == _BRIDGED:
        inner = decode_typed(block, begins + 12, end, wire_end, tunnels=tunnels)
    elif kind in {IPV4, _IPV6}:
        inner = decode_network(block, begins, end, wire_end, tunnels=tunnels)
    else:
        return NoSegment.TUNNEL
    return placed(inner, 0, tunnel_tag(GRE, key))


def placed(segment: Segment | NoSegment, interface: int, tag: int) -> Segment | NoSegment:
    """The segment with the place where it was seen in its key; the tag nearest to the segment counts."""
    if isinstance(segment, NoSegment) or not (interface or tag):
        return segment
    key = segment[0]
    if len(key) not in {12, 36}:
        inner_interface, inner_tag = _PLACE.unpack(key[-8:])
        key, interface, tag = key[:-8], interface or inner_interface, inner_tag or tag
    return (key + _PLACE.pack(interface, tag), *segment[1:])
