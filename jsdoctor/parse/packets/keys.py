"""Keys of connections: addresses and ports as on the wire, then the place where the packet was seen."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from jsdoctor.model.packets import SocketAddress

_IPV4_KEY, _IPV6_KEY = 12, 36
VXLAN, GENEVE, GRE, IP_IN_IP = 1, 2, 3, 4
_TUNNEL_NAMES = {VXLAN: "VXLAN", GENEVE: "GENEVE", GRE: "GRE", IP_IN_IP: "IP in IP"}
_KIND_BITS = 28
UNKNOWN_PLACE = 0xFFFF
"""The interface of frames that do not say theirs (Linux cooked v1): any of several."""

_IDENTIFIER = 0x00FF_FFFF


def addresses(key: bytes) -> bytes:
    """The key without its place."""
    return key[: _IPV4_KEY if len(key) < _IPV6_KEY else _IPV6_KEY]


def tunnel_tag(kind: int, identifier: int) -> int:
    """How a key names a tunnel in the place of a VLAN: its kind and the lower 24 bits of its identifier."""
    return kind << _KIND_BITS | identifier & _IDENTIFIER


def place(key: bytes) -> tuple[int, int]:
    """Interface, and VLAN or tunnel; 0 is the first or only interface, and neither VLAN nor tunnel."""
    suffix = key[len(addresses(key)) :]
    return int.from_bytes(suffix[:4], "big"), int.from_bytes(suffix[4:], "big")


def place_text(key: bytes) -> str:
    """The place in words, empty for the ordinary one."""
    interface, tag = place(key)
    return ", ".join(
        filter(None, (f"interface {interface}" if interface not in {0, UNKNOWN_PLACE} else "", _tag_text(tag)))
    )


def _tag_text(tag: int) -> str:
    kind, identifier = tag >> _KIND_BITS, tag & _IDENTIFIER
    if not kind:
        return f"VLAN {tag}" if tag else ""
    return f"{_TUNNEL_NAMES.get(kind, 'tunnel')} {identifier}" if identifier else _TUNNEL_NAMES.get(kind, "tunnel")


def base(key: bytes) -> bytes:
    """The same for both directions of a connection and for every place."""
    if len(key) == _IPV4_KEY:  # as most are; a flood of SYNs asks for each packet
        other = key[4:8] + key[:4] + key[10:] + key[8:10]
        return min(key, other)
    one = addresses(key)
    return min(one, reverse(one))


def reverse(key: bytes) -> bytes:
    """The key of the other direction at the same place."""
    one = addresses(key)
    half = (len(one) - 4) // 2
    swapped = one[half : 2 * half] + one[:half] + one[-2:] + one[-4:-2]
    return swapped + key[len(one) :]


def endpoints(key: bytes) -> tuple[SocketAddress, SocketAddress]:
    """Source and destination."""
    one = addresses(key)
    half = (len(one) - 4) // 2
    address = IPv4Address if len(one) == _IPV4_KEY else IPv6Address
    source, destination = str(address(one[:half])), str(address(one[half : 2 * half]))
    return (
        SocketAddress(source, int.from_bytes(one[-4:-2], "big")),
        SocketAddress(destination, int.from_bytes(one[-2:], "big")),
    )
