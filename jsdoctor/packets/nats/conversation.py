"""One connection: the lines of both sides, and the tallies of them.

`publishes` and `answers` are faster readers of the most frequent messages, which `Side` understands as well: one loop
over the bytes instead of calls for each message. Anything unusual (headers, another notation, a subject of the server,
a body that is requested and incomplete, damage) ends the loop, and `Side` continues.

Both return the position behind the last message that they understood. It lies beyond the text if the body of a publish
does, which is not needed.
"""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple, Protocol

from jsdoctor.model.nats_traffic import NatsConnection, NatsPeers
from jsdoctor.packets.nats.api import ApiTally
from jsdoctor.packets.nats.control import FLOW_PREFIX, HEARTBEAT, ConnectionParts, ControlTally, HeartbeatTally
from jsdoctor.packets.nats.deliveries import PREFIX, ConsumerTally, Delivered, DeliveryBook, delivered
from jsdoctor.packets.nats.lines import LineReader, Usual
from jsdoctor.packets.nats.publishing import (
    MAX_SUBJECTS,
    MAX_WAITING,
    PublishTally,
    PublishTracker,
    nats_headers,
    number,
    status,
)

MAX_REPLY_LENGTH = 4096
_MAX_DIGITS = 9
_DOLLAR = ord("$")


def publishes(tally: PublishTally) -> Usual:
    """Reads `PUB SUBJECT [REPLY] LENGTH`, from the beginning of a line."""
    waiting, by_subject = tally.waiting, tally.by_subject

    def read(at_ns: int, text: bytes, at: int) -> int:
        size, find = len(text), text.find
        while at < size and (end := find(b"\r\n", at)) > 0:
            words = text[at:end].split()
            if len(words) == 4:
                verb, subject, reply, digits = words
            elif len(words) == 3:
                verb, subject, digits = words
                reply = b""
            else:
                break
            if verb != b"PUB" or subject[0] == _DOLLAR or not digits.isdigit() or len(digits) > _MAX_DIGITS:
                break
            behind = end + 4 + int(digits)
            if behind <= size and text[behind - 2 : behind] != b"\r\n":
                break
            at = behind
            tally.messages += 1
            if subject in by_subject or len(by_subject) < MAX_SUBJECTS:
                by_subject[subject] = by_subject.get(subject, 0) + 1
            if reply:
                tally.requests += 1
                if len(waiting) >= MAX_WAITING:
                    waiting.popitem(last=False)
                waiting[reply] = (at_ns, subject, None, None, False)
        return at

    return read


def answers(tally: PublishTally) -> Usual:
    """Reads `MSG SUBJECT SID LENGTH` and its body, where a publish waits for it, from the beginning of a line."""
    waiting, answered = tally.waiting, tally.answered

    def read(at_ns: int, text: bytes, at: int) -> int:
        if text[at + 4 : text.find(b" ", at + 4)] not in waiting:
            return at
        parts = iter((text[at:] if at else text).split(b"\r\n")[:-1])
        for line, body in zip(parts, parts, strict=False):
            words = line.split()
            length = len(body)
            if (
                len(words) != 4
                or words[0] != b"MSG"
                or words[3] != b"%d" % length
                or not 0 < length <= MAX_REPLY_LENGTH
            ):
                break
            pending = waiting.pop(words[1], None)
            if pending is None:
                break
            at += len(line) + length + 4
            answered(at_ns, pending, body)
        return at

    return read


_HEADER_BYTES = 16 * 1024
_ACK_BYTES = 8
_MAX_QUEUES = 10_000
_MAX_SIDS = 10_000
_BETWEEN_SERVERS = {b"RMSG": NatsPeers.ROUTE, b"RS+": NatsPeers.ROUTE, b"RS-": NatsPeers.ROUTE, b"LMSG": NatsPeers.LEAF}
_BETWEEN_SERVERS |= {b"LS+": NatsPeers.LEAF, b"LS-": NatsPeers.LEAF, b"A+": NatsPeers.GATEWAY, b"A-": NatsPeers.GATEWAY}
_SAID_BY_SERVERS = frozenset((b"INFO", b"MSG", b"HMSG", b"-ERR", b"+OK"))
_SAID_BY_CLIENTS = frozenset((b"CONNECT", b"PUB", b"HPUB", b"SUB", b"UNSUB"))
_PUBLISHES = frozenset((b"PUB", b"HPUB"))
_DELIVERIES = frozenset((b"MSG", b"HMSG"))
_NEXT, _API = b".CONSUMER.MSG.NEXT.", b".API."
_ADVISORY, _MAX_ADVISORIES = b"$JS.EVENT.ADVISORY.", 1000
_CLIENT = NatsPeers.CLIENT
_OF_ANSWER, _OF_ACK, _OF_STATUS, _OF_PUBLISH, _OF_API, _OF_PULL = range(6)
"""The kind of message whose body was requested."""
_PULL_BYTES = 1_024
"""A longer pull request is not read."""


class Conversation:
    """Both sides of a connection. `number` is the connection's."""

    def __init__(self, number: int, publishes: PublishTracker, deliveries: DeliveryBook, *, midstream: bool) -> None:
        self.number = number
        self.midstream = midstream
        self.publishing = PublishTally(publishes, number)
        self.deliveries = deliveries
        self.clock = publishes.clock
        self.link = _CLIENT
        self.control = ControlTally()
        self.delivered = 0
        self.swapped = 0
        self.queued: set[bytes] = set()
        self.sids: dict[bytes, ConsumerTally] = {}
        self.api = ApiTally()
        self.heartbeats = HeartbeatTally()
        self.advisories: dict[bytes, int] = {}
        self.to_server = Side(self, to_server=True)
        self.to_client = Side(self, to_server=False)

    def mark_between_servers(self, link: NatsPeers) -> None:
        """Note that servers are at both ends. Their messages have other forms than those of clients."""
        self.link = link
        self.to_server.reader.usual = self.to_client.reader.usual = None

    def finish(self, at_ns: int) -> NatsConnection:
        """End the connection, and return its evidence."""
        sides = (self.to_server, self.to_client)
        for side in sides:
            side.bytes.finish(at_ns)
        readers = tuple(side.reader for side in sides)
        parts = ConnectionParts(
            contents=(readers[0].content, readers[1].content),
            resyncs=sum(reader.resyncs for reader in readers),
            bad_lines=sum(reader.bad_lines for reader in readers),
            holes=any(side.bytes.holes for side in sides),
            midstream=self.midstream,
            link=self.link,
            swapped=self.swapped,
            publishing=self.publishing.publishing(at_ns),
            subjects=self.publishing.subjects(),
            deliveries=self.delivered,
            heartbeats=self.heartbeats.idle(at_ns),
            api=self.api.traffic(at_ns),
            advisories=self.advisories,
            held_ns=(self.to_server.bytes.longest_hold_ns, self.to_client.bytes.longest_hold_ns),
        )
        return self.control.connection(self.number, parts, at_ns)


class Side:
    """The listener for the lines of one side.

    If `message` requests a body, it keeps what `body` needs to know of the message.
    """

    __slots__ = (
        *("_acked", "_answer", "_body_of", "_conversation", "_header_length", "_length", "_reply", "_sid"),
        *("_started_ns", "_subject", "_usual", "bytes", "reader", "to_server"),
    )

    def __init__(self, conversation: Conversation, *, to_server: bool) -> None:
        self._conversation = conversation
        self.to_server = to_server
        self.reader = LineReader(self, from_start=not conversation.midstream)
        self.reader.usual = (publishes if to_server else answers)(conversation.publishing)
        self.bytes = Reassembly(self.reader, None if conversation.midstream else 0)
        self._usual = _PUBLISHES if to_server else _DELIVERIES
        self._body_of = _OF_ANSWER
        self._acked: Delivered | None = None
        self._answer = self._subject = self._reply = self._sid = b""
        self._header_length = self._length = self._started_ns = 0

    def line(self, at_ns: int, verb: bytes, rest: bytes) -> None:
        """Take a line without a body."""
        talk = self._conversation
        self._notice(verb)
        if verb == b"SUB":
            words = rest.split()
            if len(words) > 2 and len(talk.queued) < _MAX_QUEUES:
                talk.queued.add(words[-1])
        elif (link := talk.control.line(at_ns, verb, rest, to_server=self.to_server)) is not None:
            talk.mark_between_servers(link)

    def _notice(self, verb: bytes) -> None:
        """Note if a verb shows that two servers talk, or that client and server are swapped."""
        if verb in _BETWEEN_SERVERS:
            if self._conversation.link is not NatsPeers.GATEWAY:
                self._conversation.mark_between_servers(_BETWEEN_SERVERS[verb])
        elif verb in (_SAID_BY_SERVERS if self.to_server else _SAID_BY_CLIENTS):
            self._conversation.swapped += 1

    def message(self, at_ns: int, words: list[bytes], header_length: int, length: int) -> int:
        """Take the head of a message. Requested are headers of publishes, replies, and the first letters of acks."""
        talk, verb = self._conversation, words[0]
        if verb not in self._usual:
            self._notice(verb)
        if talk.link is not _CLIENT:
            return self._between_servers(at_ns, words, header_length, length)
        subject = words[1]
        if verb in _DELIVERIES:
            if subject in talk.publishing.waiting:
                self._body_of, self._answer, self._header_length = _OF_ANSWER, subject, header_length
                return min(header_length, _HEADER_BYTES) + MAX_REPLY_LENGTH
            if subject in talk.api.waiting:
                self._body_of, self._answer, self._header_length = _OF_API, subject, header_length
                return min(header_length, _HEADER_BYTES) + MAX_REPLY_LENGTH
            return self._deliver(at_ns, words, header_length, length)
        if subject.startswith(b"$JS."):
            return self._to_jetstream(at_ns, words, header_length, length)
        reply = words[2] if len(words) > 2 else b""
        if not header_length:
            talk.publishing.published(at_ns, subject, reply)
            return 0
        self._body_of, self._subject, self._reply = _OF_PUBLISH, subject, reply
        self._started_ns, self._header_length, self._length = at_ns, header_length, length
        return min(header_length, _HEADER_BYTES)

    def _to_jetstream(self, at_ns: int, words: list[bytes], header_length: int, length: int) -> int:
        subject, talk = words[1], self._conversation
        if subject.startswith(PREFIX):
            return self._ack(at_ns, subject, header_length, length)
        if _NEXT in subject:
            stream, _, consumer = subject.partition(_NEXT)[2].partition(b".")
            talk.deliveries.pulled(stream, consumer)
            if len(words) > 2 and length <= _PULL_BYTES:
                self._body_of, self._reply, self._header_length = _OF_PULL, words[2], header_length
                return length
        elif subject.startswith(FLOW_PREFIX):
            talk.control.flow.answer(at_ns, subject)
        elif _API in subject and len(words) > 2:
            talk.api.requested(at_ns, subject, words[2])
        return 0

    def _ack(self, at_ns: int, subject: bytes, header_length: int, length: int) -> int:
        acked = delivered(subject)
        if acked is None:
            return 0
        if length <= header_length:
            self._conversation.deliveries.answered(at_ns, acked, b"", routed=self._routed)
            return 0
        self._body_of, self._acked = _OF_ACK, acked
        self._started_ns, self._header_length = at_ns, header_length
        return header_length + _ACK_BYTES

    @property
    def _routed(self) -> bool:
        return self._conversation.link is not _CLIENT

    def _deliver(self, at_ns: int, words: list[bytes], header_length: int, length: int) -> int:
        sid = words[2] if len(words) > 2 else b""
        if len(words) > 3 and words[3].startswith(PREFIX):
            self._conversation.heartbeats.received(at_ns, sid)
            self._delivered(at_ns, delivered(words[3]), sid)
        elif header_length and header_length == length:
            self._started_ns, self._reply = at_ns, words[3] if len(words) > 3 else b""
            self._body_of, self._sid, self._header_length = _OF_STATUS, sid, header_length
            self._subject = words[1]
            return min(header_length, _HEADER_BYTES)
        elif words[1].startswith(_ADVISORY):
            name = words[1][len(_ADVISORY) :]
            advisories = self._conversation.advisories
            if name in advisories or len(advisories) < _MAX_ADVISORIES:
                advisories[name] = advisories.get(name, 0) + 1
        return 0

    def _between_servers(self, at_ns: int, words: list[bytes], header_length: int, length: int) -> int:
        """`[ACCOUNT] SUBJECT [REPLY]`: a reply of a delivery has the message's subject behind an @."""
        for place, word in enumerate(words[1:5]):
            if word.startswith(PREFIX):
                if b"@" in word or place > 1 or (place == 1 and self._conversation.link is NatsPeers.LEAF):
                    self._delivered(at_ns, delivered(word), b"")
                    return 0
                return self._ack(at_ns, word, header_length, length)
        return 0

    def _delivered(self, at_ns: int, message: Delivered | None, sid: bytes) -> None:
        if message is None:
            return
        talk = self._conversation
        talk.delivered += 1
        talk.clock.delivered(message.stream, message.stream_seq, message.stored_ns, at_ns)
        exclusive = bool(sid) and sid not in talk.queued and not talk.midstream
        tally = talk.deliveries.delivered(talk.number, at_ns, message, routed=self._routed, exclusive=exclusive)
        if tally is not None and sid and (sid in talk.sids or len(talk.sids) < _MAX_SIDS):
            talk.sids[sid] = tally

    def body(self, at_ns: int, content: bytes) -> None:
        """Take the requested part of the body of the last message."""
        talk = self._conversation
        headers, payload = content[: self._header_length], content[self._header_length :]
        if self._body_of == _OF_ANSWER:
            talk.publishing.answered_with(at_ns, self._answer, headers, payload)
        elif self._body_of == _OF_PUBLISH:
            talk.publishing.published_with(
                self._started_ns, self._subject, self._reply, nats_headers(headers), self._length
            )
        elif self._body_of == _OF_ACK and self._acked is not None:
            talk.deliveries.answered(self._started_ns, self._acked, payload, routed=self._routed)
        elif self._body_of == _OF_API:
            talk.api.answered(at_ns, self._answer, headers, payload)
        elif self._body_of == _OF_PULL:
            talk.heartbeats.pulled(self._reply, payload)
        elif self._body_of == _OF_STATUS:
            self._status(headers)

    def _status(self, headers: bytes) -> None:
        """Take a message that is only a status."""
        talk, at_ns, sid = self._conversation, self._started_ns, self._sid
        code, words = status(headers)
        if not code:
            return
        if code != HEARTBEAT:
            talk.control.statuses.add(at_ns, code, words)
            talk.heartbeats.ended(sid)
            return
        if self._reply.startswith(FLOW_PREFIX):
            talk.control.flow.request(at_ns, self._reply)
            talk.heartbeats.received(at_ns, sid)
            return
        talk.heartbeats.heartbeat(at_ns, sid, self._subject)
        header_fields = nats_headers(headers)
        if stalled := header_fields.get(b"Nats-Consumer-Stalled"):
            talk.control.flow.stall(at_ns, stalled)
        last = number(header_fields.get(b"Nats-Last-Consumer"))
        if last is not None and (tally := talk.sids.get(sid)):
            tally.heartbeat(last)

    def missed(self, at_ns: int) -> None:  # noqa: ARG002 - the protocol's
        """Lines may have been lost: what was open is no longer waited for."""
        self._conversation.control.missed()
        self._conversation.heartbeats.forget()


# One direction of a TCP connection put in order, as its receiver read it: bounded, with every gap reported.
#
# A segment behind a hole waits until the hole is filled, and is passed on with the time of the segment that filled it:
# before that the receiver could not read it (head of line).

HELD_BYTES = 1024 * 1024
"""Maximum number of bytes that wait behind a hole; with more, its bytes count as missing in the capture."""
_HELD_SEGMENTS = 4096


class Sink(Protocol):
    """Who reads the bytes, as long as they are `readable`."""

    @property
    def readable(self) -> bool:
        """Whether more bytes are wanted."""

    def data(self, at_ns: int, data: memoryview) -> None:
        """The next bytes."""

    def uncaptured(self, at_ns: int, length: int) -> None:
        """`length` bytes were sent next and cut off by the capture (snaplen)."""

    def gap(self, at_ns: int, length: int) -> None:
        """`length` bytes were sent next and are not in the capture at all."""


class _Held(NamedTuple):
    offset: int
    at_ns: int
    wire_len: int
    data: bytes


class Reassembly:
    """Passes segments to a sink in order. `start` is the first offset; None takes that of the first segment.

    `holes` never came. `longest_hold_ns` is the longest time that a segment had to wait for a hole.
    """

    __slots__ = ("_held_bytes", "held", "holes", "longest_hold_ns", "next", "sink")

    def __init__(self, sink: Sink, start: int | None = None) -> None:
        self.sink = sink
        self.next = start
        self.held: list[_Held] = []
        self._held_bytes = 0
        self.holes = 0
        self.longest_hold_ns = 0

    def segment(self, offset: int, at_ns: int, data: memoryview, wire_len: int) -> None:
        """Take one segment, in the order of the capture. `data` may be shorter than `wire_len`."""
        if offset == self.next and not self.held:
            self.next = offset + wire_len
            captured = len(data)
            if captured:
                self.sink.data(at_ns, data)
            if captured < wire_len:
                self.sink.uncaptured(at_ns, wire_len - captured)
            return
        if self.next is None:
            self.next = offset
        if offset > self.next:
            self._hold(offset, at_ns, data, wire_len)
            return
        self._pass_on(offset, at_ns, data, wire_len)
        if self.held:
            self._release(at_ns)

    def lost(self, end: int) -> None:
        """What is missing before `end` will not come: the receiver has acknowledged it, and read what waits."""
        if self.next is not None and end > self.next:
            self._skip_to(end, 0)
            self._release(0)

    def finish(self, at_ns: int) -> None:
        """Nothing will come any more: pass on what waits, with its gaps."""
        while self.held:
            self._skip_to(self.held[0].offset, at_ns)
            self._release(at_ns)

    def _hold(self, offset: int, at_ns: int, data: memoryview, wire_len: int) -> None:
        insort(self.held, _Held(offset, at_ns, wire_len, bytes(data)))
        self._held_bytes += len(data)
        if self._held_bytes > HELD_BYTES or len(self.held) > _HELD_SEGMENTS:
            self._skip_to(self.held[0].offset, at_ns)
            self._release(at_ns)

    def _release(self, at_ns: int) -> None:
        while self.held and self.held[0].offset <= (self.next or 0):
            held = self.held.pop(0)
            self._held_bytes -= len(held.data)
            self.longest_hold_ns = max(self.longest_hold_ns, at_ns - held.at_ns)
            self._pass_on(held.offset, max(at_ns, held.at_ns), memoryview(held.data), held.wire_len)

    def _skip_to(self, offset: int, at_ns: int) -> None:
        """Report the bytes up to `offset` as missing, except those in segments that wait."""
        while self.held and self.held[0].offset < offset:
            first = self.held[0]
            self._gap(first.offset, at_ns)
            self._release(at_ns)
        self._gap(offset, at_ns)

    def _gap(self, offset: int, at_ns: int) -> None:
        if self.next is not None and offset > self.next:
            length, self.next = offset - self.next, offset
            self.holes += 1
            self.sink.gap(at_ns, length)

    def _pass_on(self, offset: int, at_ns: int, data: memoryview, wire_len: int) -> None:
        known = (self.next or 0) - offset
        if known >= wire_len:
            return
        self.next = offset + wire_len
        fresh = data[known:] if known else data
        if fresh:
            self.sink.data(at_ns, fresh)
        if uncaptured := wire_len - max(known, len(data)):
            self.sink.uncaptured(at_ns, uncaptured)
