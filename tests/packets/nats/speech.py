"""NATS as bytes, for tests that cut, shuffle and damage it: a conversation, and a way to let an observer hear it."""

from collections.abc import Sequence
from itertools import pairwise

from jsdoctor.model.nats_traffic import NatsConnection, NatsTraffic
from jsdoctor.model.packets import SocketAddress
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.packets.segment import CapturedConnection, Direction

SECRET = b"correct-horse-battery-staple"
INFO = b'INFO {"server_id":"NA","server_name":"n1","version":"2.15.1","cluster":"C","max_payload":1048576}\r\n'
CONNECT = (
    b'CONNECT {"verbose":false,"name":"billing","lang":"go","version":"1.48.0","user":"app","pass":"'
    + SECRET
    + b'"}\r\n'
)
MILLISECOND = 1_000_000


def hpub(subject: str, reply: str, headers: dict[str, str], payload: bytes = b"x") -> bytes:
    """A publish with headers."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"NATS/1.0\r\n{lines}\r\n".encode()
    return f"HPUB {subject} {reply} {len(head)} {len(head) + len(payload)}\r\n".encode() + head + payload + b"\r\n"


def pub(subject: str, reply: str = "", payload: bytes = b"x") -> bytes:
    """A publish without."""
    words = " ".join(filter(None, ("PUB", subject, reply, str(len(payload)))))
    return words.encode() + b"\r\n" + payload + b"\r\n"


def msg(subject: str, reply: str = "", payload: bytes = b"x", sid: int = 1) -> bytes:
    """A delivery."""
    words = " ".join(filter(None, ("MSG", subject, str(sid), reply, str(len(payload)))))
    return words.encode() + b"\r\n" + payload + b"\r\n"


def ack(stream: str = "ORDERS", seq: int = 1, duplicate: bool = False) -> bytes:
    """What JetStream answers."""
    return b'{"stream":"%s","seq":%d%s}' % (stream.encode(), seq, b',"duplicate": true' if duplicate else b"")


def connection(midstream: bool = False) -> CapturedConnection:
    """A connection."""
    return CapturedConnection(
        0, 1, SocketAddress("192.0.2.1", 40000), SocketAddress("192.0.2.2", 4222), midstream=midstream
    )


class Ear:
    """An observer with one connection; `say` passes bytes on in order, one millisecond after the last."""

    def __init__(self, midstream: bool = False) -> None:
        self.observer = NatsObserver()
        self.connection = connection(midstream)
        self.observer.opened(self.connection)
        self.at_ns = 0
        self._offsets = {self.connection.to_server: 0, self.connection.to_client: 0}

    def say(self, data: bytes, *, to_server: bool, captured: int | None = None) -> None:
        """One segment, of which only the beginning may be captured."""
        direction = self.connection.to_server if to_server else self.connection.to_client
        self.segment(direction, self._offsets[direction], data, captured)
        self._offsets[direction] += len(data)

    def skip(self, length: int, *, to_server: bool) -> None:
        """So many bytes are said and not captured."""
        self._offsets[self.connection.to_server if to_server else self.connection.to_client] += length

    def segment(self, direction: Direction, offset: int, data: bytes, captured: int | None = None) -> None:
        """Any segment."""
        self.at_ns += MILLISECOND
        self.observer.data(direction, offset, self.at_ns, memoryview(data)[:captured], len(data))

    def client(self, *parts: bytes) -> None:
        """The client says that."""
        self.say(b"".join(parts), to_server=True)

    def server(self, *parts: bytes) -> None:
        """The server says that."""
        self.say(b"".join(parts), to_server=False)

    def hang_up(self) -> NatsTraffic:
        """The end of the connection and of the capture."""
        self.observer.closed(self.connection, self.at_ns)
        (traffic,) = self.observer.traffic()
        return traffic

    def only(self) -> NatsConnection:
        """What is known of the connection."""
        (connection,) = self.hang_up().connections
        return connection


def pieces(data: bytes, cuts: Sequence[int]) -> list[tuple[int, bytes]]:
    """The data cut at these places: offset and bytes."""
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    return [(start, data[start:end]) for start, end in pairwise(places)]
