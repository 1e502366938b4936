"""Observes the connections of one capture after another and gives the NATS traffic on them."""

from __future__ import annotations

from jsdoctor.model.nats_traffic import NatsConnection, NatsTraffic
from jsdoctor.packets.nats.conversation import Conversation, Side
from jsdoctor.packets.nats.deliveries import DeliveryBook
from jsdoctor.packets.nats.publishing import PublishTracker, StoreClockBook
from jsdoctor.packets.segment import CapturedConnection, Direction

_MAX_CONNECTIONS = 20_000


class ConnectionList:
    """Connections of a capture that are over. `omitted` counts those beyond the bound without errors and publishes."""

    def __init__(self) -> None:
        self._done: list[NatsConnection] = []
        self.omitted = 0

    def add(self, done: NatsConnection) -> None:
        """Add a connection that is over."""
        if len(self._done) < _MAX_CONNECTIONS or done.errors or done.publishing.messages:
            self._done.append(done)
        else:
            self.omitted += 1

    def whole(self) -> frozenset[int]:
        """The numbers of those that were seen from beginning to end."""
        return frozenset(done.number for done in self._done if done.whole)

    def all(self) -> tuple[NatsConnection, ...]:
        """The kept connections, by number."""
        return tuple(sorted(self._done, key=lambda done: done.number))


class NatsObserver:
    """A `StreamObserver`. Read `traffic` when everything is read."""

    def __init__(self) -> None:
        self._captures: dict[int, _CaptureTraffic] = {}
        self._sides: dict[Direction, Side] = {}

    def opened(self, connection: CapturedConnection) -> None:
        """Begin a connection that was seen for the first time."""
        talk = self._capture_of(connection).open(connection)
        self._sides[connection.to_server] = talk.to_server
        self._sides[connection.to_client] = talk.to_client

    def data(self, direction: Direction, offset: int, at_ns: int, payload: memoryview, length: int) -> None:
        """Take bytes of a connection."""
        side = self._sides.get(direction)
        if side is None:
            return
        reassembly = side.bytes
        if offset == reassembly.next and length == len(payload) and not reassembly.held:  # as most do, with few calls
            reassembly.next = offset + length
            reassembly.sink.data(at_ns, payload)
        elif reassembly.sink.readable:
            reassembly.segment(offset, at_ns, payload, length)

    def lost(self, direction: Direction, start: int, end: int) -> None:  # noqa: ARG002 - the protocol's
        """Note that bytes will not come."""
        side = self._sides.get(direction)
        if side is not None and side.bytes.sink.readable:
            side.bytes.lost(end)

    def closed(self, connection: CapturedConnection, at_ns: int) -> None:
        """End a connection."""
        for direction in (connection.to_server, connection.to_client):
            self._sides.pop(direction, None)
        self._capture_of(connection).close(connection, at_ns)

    def traffic(self) -> tuple[NatsTraffic, ...]:
        """What was read, by capture."""
        return tuple(capture.traffic(number) for number, capture in sorted(self._captures.items()))

    def _capture_of(self, connection: CapturedConnection) -> _CaptureTraffic:
        capture = self._captures.get(connection.capture)
        if capture is None:
            capture = self._captures[connection.capture] = _CaptureTraffic()
        return capture


class _CaptureTraffic:
    """Everything of one capture."""

    def __init__(self) -> None:
        self._clock = StoreClockBook()
        self._publishes = PublishTracker(self._clock)
        self._deliveries = DeliveryBook()
        self._done = ConnectionList()
        self.talks: dict[int, Conversation] = {}

    def open(self, connection: CapturedConnection) -> Conversation:
        talk = self.talks[connection.number] = Conversation(
            connection.number, self._publishes, self._deliveries, midstream=connection.midstream
        )
        return talk

    def close(self, connection: CapturedConnection, at_ns: int) -> None:
        talk = self.talks.pop(connection.number, None)
        if talk is not None:
            self._done.add(talk.finish(at_ns))

    def traffic(self, number: int) -> NatsTraffic:
        return NatsTraffic(
            capture=number,
            connections=self._done.all(),
            consumers=self._deliveries.consumers(self._done.whole()),
            clocks=self._clock.clocks(),
            omitted=self._done.omitted + self._deliveries.omitted,
        )
