"""Keys of connections: addresses and ports as on the wire, then the place where the packet was seen."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

from jsdoctor.model.packets import SocketAddress

_IPV4_KEY, _IPV6_KEY = 12, 36
VXLAN, GENEVE, GRE, IP_IN_IP = 1, 2, 3, 4
_TUNNEL_NAMES = {VXLAN: "VXLAN", GENEVE: "GENEVE", GRE: "GRE", IP_IN_IP: "IP in IP"}
_KIND_BITS = 28
UNKNOWN_PLACE = 0xFFFF
"""The interface of frames that do not say theirs (Linux cooked v1): any of several."""

_OUTGOING = 0x0800_0000
"""Set beside the VLAN or tunnel of such a frame when the host sends it: all that is known of its interface."""

_IDENTIFIER = 0x00FF_FFFF

Place: TypeAlias = tuple[int, int]
"""Interface, and VLAN or tunnel; 0 is the first or only interface, and neither VLAN nor tunnel."""


def addresses(key: bytes) -> bytes:
    """The key without its place."""
    return key[: _IPV4_KEY if len(key) < _IPV6_KEY else _IPV6_KEY]


def tunnel_tag(kind: int, identifier: int) -> int:
    """How a key names a tunnel in the place of a VLAN: its kind and the lower 24 bits of its identifier."""
    return kind << _KIND_BITS | identifier & _IDENTIFIER


def place(key: bytes) -> Place:
    """Where a packet with that key was seen."""
    suffix = key[len(addresses(key)) :]
    return int.from_bytes(suffix[:4], "big"), int.from_bytes(suffix[4:], "big") & ~_OUTGOING


def is_of_any_interface(where: Place) -> bool:
    """Whether frames from there do not name their interface."""
    return where[0] & UNKNOWN_PLACE == UNKNOWN_PLACE


def outgoing(key: bytes) -> bytes:
    """The key of a packet that leaves the host, over an interface that is not known."""
    return key[:-4] + (int.from_bytes(key[-4:], "big") | _OUTGOING).to_bytes(4, "big")


def is_outgoing(key: bytes) -> bool:
    """Whether the key is that of a packet that leaves the host."""
    return bool(int.from_bytes(key[len(addresses(key)) :][4:], "big") & _OUTGOING)


def place_text(key: bytes) -> str:
    """The place in words, empty for the ordinary one."""
    return _text(place(key), "")


def full_place_text(where: Place) -> str:
    """The place in words, if several places are distinguished: the ordinary one has a name, too."""
    return _text(where, "interface 1 of the file")


def _text(where: Place, ordinary: str) -> str:
    interface, tag = where
    of_file, number = divmod(interface, 1 << 16)  # several interfaces of one file count from 0 above these bits
    name = f"interface {number}" if number not in {0, UNKNOWN_PLACE} else ""
    if of_file:
        name = ", ".join(filter(None, (f"interface {of_file + 1} of the file", name)))
    elif not interface:
        name = ordinary
    return ", ".join(filter(None, (name, _tag_text(tag))))


def _tag_text(tag: int) -> str:
    kind, identifier = tag >> _KIND_BITS, tag & _IDENTIFIER
    if not kind:
        return f"VLAN {tag}" if tag else ""
    return f"{_TUNNEL_NAMES.get(kind, 'tunnel')} {identifier}" if identifier else _TUNNEL_NAMES.get(kind, "tunnel")


def base(key: bytes) -> bytes:
    """The same for both directions of a connection and for every place."""
    if len(key) == _IPV4_KEY:  # as most are; a flood of SYNs needs one for each packet
        other = key[4:8] + key[:4] + key[10:] + key[8:10]
        return min(key, other)
    address_bytes = addresses(key)
    return min(address_bytes, reverse(address_bytes))


def reverse(key: bytes) -> bytes:
    """The key of the other direction at the same place."""
    address_bytes = addresses(key)
    half = (len(address_bytes) - 4) // 2
    swapped = address_bytes[half : 2 * half] + address_bytes[:half] + address_bytes[-2:] + address_bytes[-4:-2]
    return swapped + key[len(address_bytes) :]


def endpoints(key: bytes) -> tuple[SocketAddress, SocketAddress]:
    """Source and destination."""
    address_bytes = addresses(key)
    half = (len(address_bytes) - 4) // 2
    address = IPv4Address if len(address_bytes) == _IPV4_KEY else IPv6Address
    source, destination = str(address(address_bytes[:half])), str(address(address_bytes[half : 2 * half]))
    return (
        SocketAddress(source, int.from_bytes(address_bytes[-4:-2], "big")),
        SocketAddress(destination, int.from_bytes(address_bytes[-2:], "big")),
    )
