"""Listens as `NatsObserver` does, with the compiled reader of lines and messages. What is rare is understood here."""

from __future__ import annotations

from jsdoctor.model.nats_traffic import (
    ApiTraffic,
    ConsumerTraffic,
    Content,
    NatsConnection,
    NatsPeers,
    NatsTraffic,
    Publishing,
    Retry,
)
from jsdoctor.parse.packets.native_core import ConsumerRow, NativeCore, NativeLines, NativeStream, NativeTalk, latencies
from jsdoctor.parse.packets.nats.api import ApiFailureTally
from jsdoctor.parse.packets.nats.control import ControlTally, Spoken
from jsdoctor.parse.packets.nats.expectations import ExpectationBook, PublishExpectation, RefusalTally, expectation
from jsdoctor.parse.packets.nats.frames import begins_frame
from jsdoctor.parse.packets.nats.headers import nats_headers
from jsdoctor.parse.packets.nats.identity import shortened, text
from jsdoctor.parse.packets.nats.observer import ConnectionList, NatsObserver, TrafficReader
from jsdoctor.parse.packets.nats.pub_ack import pub_ack
from jsdoctor.parse.packets.nats.statuses import longest_silence
from jsdoctor.parse.packets.nats.store_clock import store_clock
from jsdoctor.parse.packets.nats.websocket import FrameReader
from jsdoctor.parse.packets.segment import CapturedConnection, Direction


class CompiledObserver(NatsObserver):
    """A `StreamObserver`. Read `traffic` when everything is read."""

    def __init__(self, core: NativeCore) -> None:
        super().__init__()
        self._core = core
        self._streams: dict[Direction, NativeStream] = {}

    def data(self, direction: Direction, offset: int, at_ns: int, payload: memoryview, length: int) -> None:
        """Bytes of a connection."""
        stream = self._streams.get(direction)
        if stream is not None:
            stream.segment(offset, at_ns, payload.tobytes(), length)

    def lost(self, direction: Direction, start: int, end: int) -> None:  # noqa: ARG002 - the protocol's
        """Bytes that will not come."""
        stream = self._streams.get(direction)
        if stream is not None:
            stream.lost(end)

    def stream(self, direction: Direction) -> NativeStream | None:
        """Who takes the bytes of that direction."""
        return self._streams.get(direction)

    def opened(self, connection: CapturedConnection) -> None:
        """A connection was seen for the first time."""
        capture = self._of(connection)
        if isinstance(capture, _NativeCapture):
            talk = capture.open(connection)
            self._streams[connection.to_server], self._streams[connection.to_client] = talk.streams

    def closed(self, connection: CapturedConnection, at_ns: int) -> None:
        """Nothing more will come."""
        for direction in (connection.to_server, connection.to_client):
            self._streams.pop(direction, None)
        super().closed(connection, at_ns)

    def _capture(self) -> TrafficReader:
        return _NativeCapture(self._core)


class _NativeCapture:
    """Everything of one capture."""

    def __init__(self, core: NativeCore) -> None:
        self._core = core
        self._book = core.NatsBook()
        self._expectations = ExpectationBook()
        self._done = ConnectionList()
        self._talks: dict[int, _Conversation] = {}

    def open(self, connection: CapturedConnection) -> _Conversation:
        """The conversation of that connection."""
        talk = self._talks[connection.number] = _Conversation(connection.number, self._expectations)
        reader = self._core.NatsTalk(connection.number, connection.midstream, self._book, talk)
        talk.begin(self._core, reader, connection)
        return talk

    def close(self, connection: CapturedConnection, at_ns: int) -> None:
        """It is over."""
        talk = self._talks.pop(connection.number, None)
        if talk is not None:
            self._done.add(talk.finish(at_ns))

    def traffic(self, number: int) -> NatsTraffic:
        """What was said in all of it."""
        clocks = sorted(self._book.clocks())
        return NatsTraffic(
            capture=number,
            connections=self._done.all(),
            consumers=self._consumers(),
            clocks=tuple(store_clock(*clock) for clock in clocks),
            omitted=self._done.omitted + self._book.omitted,
        )

    def _consumers(self) -> tuple[ConsumerTraffic, ...]:
        """All of them by name. Where a client's connection shows a consumer, routes are left out."""
        whole, pulled = self._done.whole(), set(self._book.pulled())
        consumers = sorted(self._book.consumers(), key=lambda row: (row["routed"], row["names"]))
        at_clients = {tuple(row["names"]) for row in consumers if not row["routed"]}
        return tuple(
            _consumer(row, whole, pulled)
            for row in consumers
            if not row["routed"] or tuple(row["names"]) not in at_clients
        )


def _consumer(row: ConsumerRow, whole: frozenset[int], pulled: set[tuple[bytes, bytes]]) -> ConsumerTraffic:
    domain, account_hash, stream, consumer = row["names"]
    alone = row["alone"] and not row["routed"] and (stream, consumer) not in pulled
    return ConsumerTraffic(
        stream=shortened(text(stream)),
        consumer=shortened(text(consumer)),
        domain=text(domain),
        account_hash=text(account_hash),
        routed=row["routed"],
        connections=tuple(row["connections"]),
        exclusive=alone and whole.issuperset(row["connections"]),
        most_deliveries=row["most_deliveries"],
        ack_ns=latencies(row["ack_ns"]),
        late_ns=latencies(row["late_ns"]),
        redelivery_ns=latencies(row["redelivery_ns"]),
        first_ns=row["first_ns"],
        last_ns=row["last_ns"],
        **row["counts"],
    )


class _Conversation:
    """One connection: the host of its compiled reader."""

    def __init__(self, number: int, expectations: ExpectationBook) -> None:
        self._number = number
        self._expectations = expectations
        self._refusals = RefusalTally()
        self._failures = ApiFailureTally()
        self._control = ControlTally()

    def begin(self, core: NativeCore, talk: NativeTalk, connection: CapturedConnection) -> None:
        """Its reader is there."""
        self._core, self._talk, self._midstream = core, talk, connection.midstream
        start = None if connection.midstream else 0
        self.streams = core.NatsStream(talk, True, start), core.NatsStream(talk, False, start)

    def line(self, at_ns: int, to_server: bool, verb: str, rest: bytes) -> str | None:
        """INFO, CONNECT, PING, PONG or -ERR. Returns who is at both ends where that shows."""
        return self._control.line(at_ns, verb.encode(), rest, to_server=to_server)

    def missed(self) -> None:
        """Lines may have been lost."""
        self._control.missed()

    def begins_frame(self, data: bytes) -> bool:
        """Whether a frame of WebSocket with NATS in it begins here."""
        return begins_frame(data)

    def frames(self, to_server: bool, change: int, synced: bool) -> FrameReader:
        """Who reads frames of WebSocket of this direction from now on."""
        return FrameReader(_NativeLineReader(self._core.NatsLines(self._talk, to_server, change)), synced=synced)

    def answer(self, payload: bytes) -> tuple[str, int, bool, bool] | None:
        """Stream, sequence, duplicate, refused; None for what is no reply of JetStream."""
        ack = pub_ack(payload)
        return (ack.stream, ack.seq, ack.duplicate, ack.error is not None) if ack else None

    def expected(self, subject: bytes, headers: bytes, length: int) -> PublishExpectation | None:
        """What a publish expects of its stream, which is noted."""
        publish_expectation = expectation(self._number, subject, nats_headers(headers), length)
        if publish_expectation is not None:
            self._expectations.published(publish_expectation)
        return publish_expectation

    def stored(self, expected: PublishExpectation) -> None:
        """It was acknowledged."""
        self._expectations.stored(expected)

    def refused(self, at_ns: int, subject: bytes, payload: bytes, expected: PublishExpectation | None) -> None:
        """It was refused."""
        answer = pub_ack(payload)
        if answer is not None:
            again = expected is not None and self._expectations.refused(expected)
            self._refusals.add(at_ns, subject, answer, expected, again)

    def api_replied(self, at_ns: int, subject: bytes, headers: bytes, payload: bytes) -> None:
        """A response to a request to the JetStream API."""
        self._failures.replied(at_ns, subject, headers, payload)

    def status(self, at_ns: int, code: int, words: bytes) -> None:
        """A message that is only a status, and no heartbeat."""
        self._control.statuses.add(at_ns, code, words)

    def flow_requested(self, at_ns: int, subject: bytes) -> None:
        """The server requests flow control."""
        self._control.flow.request(at_ns, subject)

    def flow_stalled(self, at_ns: int, subject: bytes) -> None:
        """A heartbeat says that deliveries wait for this."""
        self._control.flow.stall(at_ns, subject)

    def flow_answered(self, at_ns: int, subject: bytes) -> None:
        """The client responds to flow control."""
        self._control.flow.answer(at_ns, subject)

    def finish(self, at_ns: int) -> NatsConnection:
        """Everything that became of it."""
        talk = self._talk
        for stream in self.streams:
            stream.finish(at_ns)
        (first, resyncs, bad_lines), (second, more_resyncs, more_bad_lines) = talk.reader(True), talk.reader(False)
        count, idle = talk.heartbeats()
        requests, waiting, took_ns = talk.api()
        to_server, to_client = self.streams
        spoken = Spoken(
            contents=(Content(first), Content(second)),
            resyncs=resyncs + more_resyncs,
            bad_lines=bad_lines + more_bad_lines,
            holes=to_server.holes + to_client.holes > 0,
            midstream=self._midstream,
            websocket=talk.websocket,
            link=NatsPeers(talk.link),
            swapped=talk.swapped,
            publishing=self._publishing(at_ns),
            subjects=tuple((shortened(text(subject)), count) for subject, count in talk.subjects()),
            deliveries=talk.delivered,
            heartbeats=longest_silence(count, idle, at_ns),
            api=ApiTraffic(requests, waiting, latencies(took_ns), self._failures.all()),
            advisories=dict(talk.advisories()),
            held_ns=(to_server.longest_hold_ns, to_client.longest_hold_ns),
        )
        talk.release()
        del self._talk, self.streams  # they refer to this, and nobody else would part them
        return self._control.connection(self._number, spoken, at_ns)

    def _publishing(self, at_ns: int) -> Publishing:
        row = self._talk.publishing(at_ns)
        acks = latencies(row["ack_ns"])
        return Publishing(
            acks=acks.count,
            ack_ns=acks,
            retry_ns=latencies(row["retry_ns"]),
            waiting_ns=latencies(row["waiting_ns"]),
            retry_examples=tuple(Retry(shortened(text(entry[0])), *entry[1:]) for entry in row["retries"]),
            refusals=self._refusals.refusals(),
            duplicate_streams=tuple(sorted(row["duplicate_streams"])),
            no_responder_subjects=tuple(sorted({shortened(text(subject)) for subject in row["silent_subjects"]})),
            **row["counts"],
        )


class _NativeLineReader:
    """The compiled reader of lines behind frames of WebSocket."""

    def __init__(self, lines: NativeLines) -> None:
        self._lines = lines

    @property
    def readable(self) -> bool:
        """Whether what comes may be NATS."""
        return self._lines.readable

    def data(self, at_ns: int, data: memoryview) -> None:
        """The next bytes."""
        self._lines.data(at_ns, data.tobytes())

    def uncaptured(self, at_ns: int, length: int) -> None:
        """`length` bytes were cut off."""
        self._lines.uncaptured(at_ns, length)

    def lose_place(self, at_ns: int) -> None:
        """Anything may be missing here."""
        self._lines.lose_place(at_ns)
