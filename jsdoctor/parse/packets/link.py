"""Link layers: from a captured frame to where IP begins. The usual Ethernet, IPv4, TCP frame takes a short cut.

Numbers are those of https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TypeAlias

from jsdoctor.parse.packets.ip import CONGESTION, NoSegment, decode_ip, timestamp, upper_layer
from jsdoctor.parse.packets.keys import GENEVE, GRE, IP_IN_IP, UNKNOWN_PLACE, VXLAN, outgoing, place, tunnel_tag
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


# From an Ethernet type or an IP header to a TCP segment: VLAN tags, MPLS, PPPoE, and tunnels of container networks.
#
# VXLAN (RFC 7348), GENEVE (RFC 8926), GRE (RFC 2784, 2890) with NVGRE and ERSPAN, IP in IP (RFC 2003, 4213). What is
# inside a tunnel is judged like any other connection; its key says through which tunnel it came.

IPV4, _IPV6, _PPPOE, _BRIDGED = 0x0800, 0x86DD, 0x8864, 0x6558
_MPLS = frozenset((0x8847, 0x8848))
VLANS = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))
_ERSPAN_2, _ERSPAN_3 = 0x88BE, 0x22EB
_UDP, _GRE, _IPV4_IN_IP, _IPV6_IN_IP = 17, 47, 4, 41
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
    if protocol == _UDP:
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
