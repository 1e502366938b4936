"""From an Ethernet type or an IP header to a TCP segment: VLAN tags, MPLS, PPPoE, and tunnels of container networks.

VXLAN (RFC 7348), GENEVE (RFC 8926), GRE (RFC 2784, 2890) with NVGRE and ERSPAN, IP in IP (RFC 2003, 4213). What is
inside a tunnel is judged like any other connection; its key says through which tunnel it came.
"""

from __future__ import annotations

from struct import Struct

from jsdoctor.parse.packets.ip import NoSegment, decode_ip, upper_layer
from jsdoctor.parse.packets.keys import GENEVE, GRE, IP_IN_IP, VXLAN, tunnel_tag
from jsdoctor.parse.packets.segment import Segment

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
