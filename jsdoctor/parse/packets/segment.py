"""What the layers of packets hand to each other: decoded segments, and the bytes of connections."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

from jsdoctor.model.packets import SocketAddress

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
        """The same with its own bytes only, from its TCP header on."""
        segment = self.segment
        begins = segment[5] - _TCP_HEADER
        return self._replace(
            segment=(*segment[:5], _TCP_HEADER, segment[6] - begins, *segment[7:]),
            block=self.block[begins : segment[6] + segment[7]],
        )


class CapturedConnection:
    """Who talks to whom. `number` is that of `model.packets.TcpConnection`, `capture` the index of its capture.

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
    """Who wants to read the bytes of connections. Calls come in the order of the capture.

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
