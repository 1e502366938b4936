"""Decoded segments, the arithmetic of their sequence numbers, and keys of connections: addresses, ports, place."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple, Protocol, TypeAlias

from jsdoctor.model.packets import SocketAddress

MASK = 0xFFFF_FFFF
HALF = 0x8000_0000


def ahead(later: int, earlier: int) -> int:
    """By how much the first is ahead of the second: negative when it is behind."""
    return (later - earlier + HALF & MASK) - HALF


def ahead16(later: int, earlier: int) -> int:
    """The same for the 16 bits of an IPv4 id."""
    return (later - earlier + 0x8000 & 0xFFFF) - 0x8000


FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128


Segment: TypeAlias = tuple[bytes, int, int, int, int, int, int, int, int, int, int, int, bool]
"""One TCP segment as its headers say: a plain tuple, as there is one for every packet.

`(key, tcp_seq, tcp_ack, flags, window, options_at, payload_at, captured, length, ip_id, ts_val, hops, congested)`:
`key` is source address, destination address, source port, destination port as on the wire (12 bytes for IPv4, 36 for
IPv6), then 8 bytes of interface and VLAN unless both are 0. `tcp_seq` and `tcp_ack` are raw, 32 bits. `payload_at` is
where payload begins in the block, `captured` how much of it was captured, `length` how much there was on the wire.
`ip_id` is -1 for IPv6. `ts_val` is -1 without TCP timestamps. Options lie in `options_at <= position < payload_at` of
the block, as far as they were captured. `hops` is the TTL; `congested`: a router marked it (ECN CE).
"""


_TCP_HEADER = 20


class CapturedPacket(NamedTuple):
    """One packet: its segment, whose places refer to `block`, its number in the file, and when it was captured."""

    segment: Segment
    frame: int
    at: int
    block: bytes

    def alone(self) -> CapturedPacket:
        """The packet with its own bytes only, from its TCP header on, instead of the block."""
        segment = self.segment
        begins = segment[5] - _TCP_HEADER
        return self._replace(
            segment=(*segment[:5], _TCP_HEADER, segment[6] - begins, *segment[7:]),
            block=self.block[begins : segment[6] + segment[7]],
        )


class CapturedConnection:
    """A connection and its two ends. `number` is that of its `TcpConnection`, `capture` the index of its capture.

    `midstream`: the handshake was not seen, and who is the client is a guess by port: correct it by what you read.
    """

    __slots__ = ("capture", "client", "midstream", "number", "server", "to_client", "to_server")

    def __init__(
        self, capture: int, number: int, client: SocketAddress, server: SocketAddress, *, midstream: bool
    ) -> None:
        self.capture, self.number = capture, number
        self.client, self.server = client, server
        self.midstream = midstream
        self.to_server = Direction(self, to_server=True)
        self.to_client = Direction(self, to_server=False)


class Direction:
    """One direction of a connection. Identity is the object: use it as a key. `peer` is the other direction."""

    __slots__ = ("connection", "to_server")

    def __init__(self, connection: CapturedConnection, *, to_server: bool) -> None:
        self.connection = connection
        self.to_server = to_server

    @property
    def peer(self) -> Direction:
        """The other direction of the same connection."""
        return self.connection.to_client if self.to_server else self.connection.to_server


class StreamObserver(Protocol):
    """Reads the bytes of connections. Calls come in the order of the capture.

    Offsets count bytes of the direction's stream without wrapping: 0 is the first byte after SYN; in a connection met
    midway the first byte captured, so that older bytes that come late have negative offsets.
    """

    def opened(self, connection: CapturedConnection) -> None:
        """A connection was seen for the first time. Comes before everything else of it."""

    def data(self, direction: Direction, offset: int, at_ns: int, payload: memoryview, length: int) -> None:
        """Bytes of which at least some were not seen before, at `offset`, in any order.

        `length` is how many there were on the wire, `len(payload)` how many of these were captured: the rest is known
        to exist and not what it was. Bytes may overlap with earlier ones; the first copy counts. `payload` is valid
        during the call only: copy what you keep.
        """

    def lost(self, direction: Direction, start: int, end: int) -> None:
        """Bytes `start <= offset < end` will not come any more: the peer acknowledged what was not captured."""

    def closed(self, connection: CapturedConnection, at_ns: int) -> None:
        """FIN in both directions, RST, the end of the capture, or forgotten to save memory: nothing more will come."""


_IPV4_KEY, _IPV6_KEY = 12, 36
VXLAN, GENEVE, GRE, IP_IN_IP = 1, 2, 3, 4
_TUNNEL_NAMES = {VXLAN: "VXLAN", GENEVE: "GENEVE", GRE: "GRE", IP_IN_IP: "IP in IP"}
_KIND_BITS = 28
UNKNOWN_PLACE = 0xFFFF
"""The interface of frames that do not name theirs (Linux cooked v1): any of several."""

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


def connection_key(key: bytes) -> bytes:
    """The key of a connection: the same for both directions and for every place."""
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
