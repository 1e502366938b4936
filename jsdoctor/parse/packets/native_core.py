"""The compiled reader of packets (`native/`, the package jsdoctor-native), where it is installed and fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict

from jsdoctor.model.latency import Latencies
from jsdoctor.parse.compiled_core import CompiledCore
from jsdoctor.parse.packets.container import RunsAhead
from jsdoctor.parse.packets.nats.expectations import PublishExpectation
from jsdoctor.parse.packets.segment import StreamObserver
from jsdoctor.parse.packets.tcp.connections import StateTable

DurationRow = tuple[int, int, int, Sequence[tuple[int, int]]]
"""Count, least, largest, bins."""


def latencies(row: DurationRow) -> Latencies:
    """Durations as they are kept."""
    count, least_ns, largest_ns, bins = row
    return Latencies(count, least_ns, largest_ns, tuple(bins))


class ConsumerRow(TypedDict):
    """One consumer. `names`: domain, hash of the account, stream, consumer."""

    routed: bool
    names: list[bytes]
    connections: list[int]
    alone: bool
    first_ns: int
    last_ns: int
    most_deliveries: int
    ack_ns: DurationRow
    late_ns: DurationRow
    redelivery_ns: DurationRow
    counts: dict[str, int]


class PublishingRow(TypedDict):
    """What one connection published."""

    counts: dict[str, int]
    ack_ns: DurationRow
    retry_ns: DurationRow
    waiting_ns: DurationRow
    retries: list[tuple[bytes, int, int, int | None, bool]]
    duplicate_streams: list[str]
    silent_subjects: list[bytes]


class NativeBook(Protocol):
    """What the connections of a capture share."""

    @property
    def omitted(self) -> int:
        """Deliveries of consumers that were not counted."""
        ...

    def pulled(self) -> list[tuple[bytes, bytes]]:
        """Stream and consumer of which a client requested messages."""
        ...

    def consumers(self) -> list[ConsumerRow]:
        """All consumers, at the end of the capture."""
        ...

    def clocks(self) -> list[tuple[bytes, int, int | None, int]]:
        """Streams: name, lower and upper bound of their clock, messages."""
        ...


class NativeTalk(Protocol):
    """Both sides of a connection."""

    @property
    def websocket(self) -> bool:
        """Whether the connection uses frames of WebSocket."""
        ...

    @property
    def link(self) -> str:
        """Who is at its ends."""
        ...

    @property
    def swapped(self) -> int:
        """Lines that only the other side says."""
        ...

    @property
    def delivered(self) -> int:
        """Deliveries of consumers."""
        ...

    def release(self) -> None:
        """It is over: let go of who reads frames."""
        ...

    def reader(self, to_server: bool, /) -> tuple[str, int, int]:
        """The content of one direction, resyncs, bad lines."""
        ...

    def publishing(self, end_ns: int, /) -> PublishingRow:
        """What was published, at the end of the connection."""
        ...

    def subjects(self) -> list[tuple[bytes, int]]:
        """The subjects published to most."""
        ...

    def heartbeats(self) -> tuple[int, list[tuple[int, int, int]]]:
        """How many; of each subscription the interval, the longest silence, and when the last one came."""
        ...

    def api(self) -> tuple[int, int, DurationRow]:
        """Requests to the JetStream API, those that wait, and how long the others took."""
        ...

    def advisories(self) -> list[tuple[bytes, int]]:
        """Advisories by name."""
        ...


class NativeStream(Protocol):
    """The bytes of one direction, in any order."""

    @property
    def holes(self) -> int:
        """Gaps that were not filled."""
        ...

    @property
    def longest_hold_ns(self) -> int:
        """How long bytes waited for a gap to be filled."""
        ...

    def segment(self, offset: int, at_ns: int, data: bytes, length: int, /) -> None:
        """One segment, of which `data` was captured."""
        ...

    def lost(self, end: int, /) -> None:
        """What is missing before `end` will not come."""
        ...

    def finish(self, at_ns: int, /) -> None:
        """Nothing will come any more."""
        ...


class NativeLines(Protocol):
    """The lines of one direction inside of frames of WebSocket."""

    @property
    def readable(self) -> bool:
        """Whether what comes may be NATS."""
        ...

    def data(self, at_ns: int, data: bytes, /) -> None:
        """The next bytes."""
        ...

    def uncaptured(self, at_ns: int, length: int, /) -> None:
        """`length` bytes were cut off."""
        ...

    def lose_place(self, at_ns: int, /) -> None:
        """Anything may be missing here."""
        ...


class TalkHost(Protocol):
    """What the compiled reader leaves to Python, as it is rare."""

    def line(self, at_ns: int, to_server: bool, verb: str, rest: bytes) -> str | None:
        """INFO, CONNECT, PING, PONG or -ERR. Returns who is at both ends where that shows."""
        ...

    def missed(self) -> None:
        """Lines may have been lost."""
        ...

    def begins_frame(self, data: bytes) -> bool:
        """Whether a frame of WebSocket with NATS in it begins here."""
        ...

    def frames(self, to_server: bool, change: int, synced: bool) -> object:
        """Who reads frames of WebSocket of this direction from now on."""
        ...

    def answer(self, payload: bytes) -> tuple[str, int, bool, bool] | None:
        """Stream, sequence, duplicate, refused; None for what is no reply of JetStream."""
        ...

    def expected(self, subject: bytes, headers: bytes, length: int) -> PublishExpectation | None:
        """What a publish expects of its stream, which is noted."""
        ...

    def stored(self, expected: PublishExpectation) -> None:
        """It was acknowledged."""
        ...

    def refused(self, at_ns: int, subject: bytes, payload: bytes, expected: PublishExpectation | None) -> None:
        """It was refused."""
        ...

    def api_replied(self, at_ns: int, subject: bytes, headers: bytes, payload: bytes) -> None:
        """A response to a request to the JetStream API."""
        ...

    def status(self, at_ns: int, code: int, words: bytes) -> None:
        """A message that is only a status, and no heartbeat."""
        ...

    def flow_requested(self, at_ns: int, subject: bytes) -> None:
        """The server requests flow control."""
        ...

    def flow_stalled(self, at_ns: int, subject: bytes) -> None:
        """A heartbeat says that deliveries wait for this."""
        ...

    def flow_answered(self, at_ns: int, subject: bytes) -> None:
        """The client responds to flow control."""
        ...


class PacketWalk(RunsAhead, StateTable, Protocol):
    """Follows packets that simply come next, and says where the first one begins that does not."""

    def interfaces(self, links: Sequence[int], /) -> None:
        """The link types of the interfaces of the file, as far as they are known."""
        ...

    def counts(self) -> tuple[int, int, int, int]:
        """Packets, those of TCP, bytes on the wire, the time of the last packet."""
        ...

    def go_on(self, frame: int, tcp: int, size: int, last_at: int, shift_ns: int, /) -> None:
        """The counts behind a packet that was followed elsewhere, and by how much the clock is ahead."""
        ...

    def write_back(self) -> None:
        """Bring all directions up to the last packet."""
        ...


class NativeCore(Protocol):
    """The compiled reader of packets."""

    def PacketWalk(self, observer: StreamObserver | None, compiled: bool, /) -> PacketWalk:  # noqa: N802  # a class
        """For one capture. `compiled`: its observer has a `NatsStream` for each direction."""
        ...

    def NatsBook(self) -> NativeBook:  # noqa: N802
        """What the connections of a capture share."""
        ...

    def NatsTalk(  # noqa: N802
        self, number: int, midstream: bool, book: NativeBook, host: TalkHost, /
    ) -> NativeTalk:
        """Both sides of a connection."""
        ...

    def NatsStream(self, talk: NativeTalk, to_server: bool, start: int | None, /) -> NativeStream:  # noqa: N802
        """The bytes of one direction; `start` is the offset of the first one, where that is known."""
        ...

    def NatsLines(self, talk: NativeTalk, to_server: bool, change: int, /) -> NativeLines:  # noqa: N802
        """The lines of one direction inside of frames, as long as these are not read again."""
        ...


_core = CompiledCore[NativeCore]("PACKETS_REVISION", 1)


def have_native() -> bool:
    """Whether the compiled reader is installed."""
    return _core.found is not None


def native_core() -> NativeCore:
    """The compiled reader. Only where `have_native`."""
    return _core.required()
