"""The lines of a connection beside messages: identity of both sides, PING, errors, statuses, flow control.

Source: nats-server consumer.go (`sendIdleHeartbeat`, `sendFlowControl`, `Exceeded …`), ADR-9 and ADR-13 of NATS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from jsdoctor.model.nats_traffic import (
    ApiTraffic,
    Content,
    IdleHeartbeats,
    NatsConnection,
    NatsPeers,
    ProtocolError,
    Publishing,
    StatusMessages,
    StreamFlow,
)
from jsdoctor.packets.nats.identity import Greeting, Hello, greeting, hello, shortened, text

HEARTBEAT = 100
FLOW_PREFIX = b"$JS.FC."
_MAX_STATUSES = 40
_MAX_SIDS = 5_000
_MAX_OPEN_SUBJECTS = 1_000
_MAX_WORDS = 120


class StatusTally:
    """Counts statuses by code and text."""

    __slots__ = ("_counted",)

    def __init__(self) -> None:
        self._counted: dict[tuple[int, bytes], StatusMessages] = {}

    def add(self, at_ns: int, code: int, words: bytes) -> None:
        """Count one status."""
        key = (code, words[:_MAX_WORDS])
        known = self._counted.get(key)
        if known is not None:
            self._counted[key] = StatusMessages(code, known.text, known.count + 1, known.first_ns, at_ns)
        elif len(self._counted) < _MAX_STATUSES:
            self._counted[key] = StatusMessages(code, text(key[1]), 1, at_ns, at_ns)

    def statuses(self) -> tuple[StatusMessages, ...]:
        """All of them, the most frequent first."""
        return tuple(sorted(self._counted.values(), key=lambda item: (-item.count, item.code, item.text)))


class _Idle:
    """One subscription: the interval that its pulls requested (0: none did), its least time between two heartbeats,
    and the longest silence behind one.
    """

    __slots__ = ("interval_ns", "last_ns", "requested_ns", "silence_ns")

    def __init__(self) -> None:
        self.interval_ns = self.requested_ns = self.silence_ns = self.last_ns = 0


class _Pull(msgspec.Struct, frozen=True):
    idle_heartbeat: int = 0


_PULL_DECODER = msgspec.json.Decoder(_Pull)


class HeartbeatTally:
    """Idle heartbeats by subscription. A subscription without them is not followed.

    Each open pull has heartbeats of its own, so that those of a subscription with two come in pairs: the interval is
    what the pulls requested.
    """

    __slots__ = ("_idle", "_pulls", "count")

    def __init__(self) -> None:
        self._idle: dict[bytes, _Idle] = {}
        self._pulls: dict[bytes, int] = {}
        self.count = 0

    def pulled(self, reply: bytes, request: bytes) -> None:
        """Note the interval that a pull requests, by the subject of its replies."""
        try:
            requested_ns = _PULL_DECODER.decode(request).idle_heartbeat
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return  # the number of messages alone
        if reply in self._pulls or len(self._pulls) < _MAX_SIDS:
            self._pulls[reply] = max(requested_ns, self._pulls.get(reply, 0))

    def heartbeat(self, at_ns: int, sid: bytes, subject: bytes) -> None:
        """Count one on that subscription, for the pull whose replies have that subject, if it is one."""
        self.count += 1
        idle = self._idle.get(sid)
        if idle is None:
            if len(self._idle) >= _MAX_SIDS:
                return
            idle = self._idle[sid] = _Idle()
        if idle.last_ns:
            passed_ns = max(at_ns - idle.last_ns, 0)
            idle.interval_ns = min(idle.interval_ns or passed_ns, passed_ns)
            idle.silence_ns = max(idle.silence_ns, passed_ns)
        idle.requested_ns = max(idle.requested_ns, self._pulls.get(subject, 0))
        idle.last_ns = at_ns

    def received(self, at_ns: int, sid: bytes) -> None:
        """Anything else on that subscription: the server is alive, and need not send a heartbeat."""
        idle = self._idle.get(sid)
        if idle is not None and idle.last_ns:
            idle.silence_ns = max(idle.silence_ns, at_ns - idle.last_ns)
            idle.last_ns = 0

    def ended(self, sid: bytes) -> None:
        """End the silence there: the pull or the consumer that sent heartbeats has ended."""
        if idle := self._idle.get(sid):
            idle.last_ns = 0

    def forget(self) -> None:
        """Lines were lost: silence proves nothing."""
        self._idle.clear()

    def idle(self, end_ns: int) -> IdleHeartbeats:
        """The subscription with the longest silence for its interval; the end of the capture ends it, too."""
        idle = [(item.requested_ns or item.interval_ns, item.silence_ns, item.last_ns) for item in self._idle.values()]
        return longest_silence(self.count, idle, end_ns)


def longest_silence(count: int, idle: Iterable[tuple[int, int, int]], end_ns: int) -> IdleHeartbeats:
    """Of subscriptions (interval, silence, last heartbeat or 0), the one with the longest silence for its interval."""
    worst = IdleHeartbeats(count=count)
    for interval_ns, silent_ns, last_ns in idle:
        silence_ns = max(silent_ns, end_ns - last_ns if last_ns else 0)
        if interval_ns and silence_ns * max(worst.interval_ns, 1) > worst.silence_ns * interval_ns:
            worst = IdleHeartbeats(count=count, interval_ns=interval_ns, silence_ns=silence_ns)
    return worst


class FlowTally:
    """Requests of flow control, to which the client responds when it has processed all messages before."""

    __slots__ = ("_open", "answered", "longest_ns", "requests", "stalled")

    def __init__(self) -> None:
        self._open: dict[bytes, int] = {}
        self.requests = self.answered = self.stalled = self.longest_ns = 0

    def request(self, at_ns: int, subject: bytes) -> None:
        """Count a request of the server."""
        self.requests += 1
        if len(self._open) < _MAX_OPEN_SUBJECTS:
            self._open.setdefault(subject, at_ns)

    def stall(self, at_ns: int, subject: bytes) -> None:
        """Count a heartbeat which reports that deliveries wait for this response."""
        self.stalled += 1
        if subject not in self._open:
            self.request(at_ns, subject)

    def answer(self, at_ns: int, subject: bytes) -> None:
        """Count the response of the client, and the time until it."""
        asked_ns = self._open.pop(subject, None)
        if asked_ns is not None:
            self.answered += 1
            self.longest_ns = max(self.longest_ns, at_ns - asked_ns)

    def forget(self) -> None:
        """Lines were lost: a response may have been among them."""
        self._open.clear()

    def flow(self, end_ns: int) -> StreamFlow:
        """The totals when the connection or the capture ended."""
        waiting_ns = max((end_ns - at_ns for at_ns in self._open.values()), default=0)
        return StreamFlow(
            requests=self.requests,
            answered=self.answered,
            open=len(self._open),
            stalled=self.stalled,
            longest_ns=max(self.longest_ns, 0),
            waiting_ns=max(waiting_ns, 0),
        )


_NATS = Content.NATS


class ConnectionParts(NamedTuple):
    """What was read of a connection: `contents` to the server and to the client, and its tallies."""

    contents: tuple[Content, Content]
    resyncs: int
    bad_lines: int
    holes: bool
    midstream: bool
    link: NatsPeers
    swapped: int
    publishing: Publishing
    subjects: tuple[tuple[str, int], ...]
    deliveries: int
    heartbeats: IdleHeartbeats
    api: ApiTraffic
    advisories: Mapping[bytes, int]
    held_ns: tuple[int, int]


class ControlTally:
    """Lines of one connection that belong to no message, and messages that are only a status."""

    __slots__ = ("errors", "flow", "greeting", "hello", "pings", "statuses")

    def __init__(self) -> None:
        self.greeting = Greeting()
        self.hello = Hello()
        self.errors = ErrorTally()
        self.pings = PingTally()
        self.statuses = StatusTally()
        self.flow = FlowTally()

    def line(self, at_ns: int, verb: bytes, rest: bytes, *, to_server: bool) -> NatsPeers | None:
        """Take one line. Returns who is at both ends of the connection, if the line shows that."""
        match verb:
            case b"PING":
                self.pings.ping(at_ns, to_server=to_server)
            case b"PONG":
                self.pings.pong(to_server=to_server)
            case b"INFO":
                stated = greeting(rest)
                if stated.server_name and not (self.greeting.server_name and to_server):
                    self.greeting = stated
                return stated.link
            case b"CONNECT":
                self.hello = hello(rest)
            case b"-ERR":
                self.errors.add(at_ns, rest, from_server=not to_server)
        return None

    def missed(self) -> None:
        """Lines were lost: what was open is no longer waited for."""
        self.pings.forget()
        self.flow.forget()

    def connection(self, number: int, parts: ConnectionParts, at_ns: int) -> NatsConnection:
        """The evidence of the connection."""
        contents = _agreed(parts.contents)
        is_nats = contents == (_NATS, _NATS)
        sound = is_nats and not parts.resyncs and not parts.bad_lines
        return NatsConnection(
            number=number,
            content=_content(*contents),
            link=parts.link,
            whole=sound and not parts.midstream,
            gapless=sound and not parts.holes,
            swapped=parts.link is NatsPeers.CLIENT and parts.swapped > 0,
            resyncs=parts.resyncs,
            bad_lines=parts.bad_lines,
            server=shortened(self.greeting.server_name),
            server_version=shortened(self.greeting.version),
            cluster=shortened(self.greeting.cluster),
            client=shortened(self.hello.name),
            lang=shortened(self.hello.lang),
            version=shortened(self.hello.version),
            publishing=parts.publishing,
            deliveries=parts.deliveries,
            errors=self.errors.errors(),
            statuses=self.statuses.statuses(),
            heartbeats=parts.heartbeats,
            flow_control=self.flow.flow(at_ns),
            api=parts.api,
            advisories=tuple((text(name), count) for name, count in sorted(parts.advisories.items())),
            subjects=parts.subjects,
            longest_ping_wait_ns=self.pings.longest_wait_ns(at_ns),
            held_ns=parts.held_ns,
        )


def _agreed(contents: tuple[Content, Content]) -> tuple[Content, Content]:
    """The contents of both directions: TLS, S2 or WebSocket in one of them holds for the other, too."""
    for content in (Content.TLS, Content.S2, Content.WEBSOCKET):
        if content in contents:
            return content, content
    return contents


def _content(first: Content, second: Content) -> Content:
    if first is second:
        return first
    order = (Content.NATS, Content.OTHER, Content.UNKNOWN)
    return next(content for content in order if content in (first, second))


_MAX_KINDS = 50
_MAX_TEXT = 200


class ErrorTally:
    """Counts protocol errors by text and sender."""

    __slots__ = ("_counted",)

    def __init__(self) -> None:
        self._counted: dict[tuple[str, bool], ProtocolError] = {}

    def add(self, at_ns: int, rest: bytes, *, from_server: bool) -> None:
        """Count one error; `rest` follows `-ERR` in its line."""
        stated = text(rest.strip(b" \t'")[:_MAX_TEXT])
        known = self._counted.get((stated, from_server))
        if known is not None:
            self._counted[stated, from_server] = ProtocolError(
                stated, known.count + 1, known.first_ns, at_ns, from_server
            )
        elif len(self._counted) < _MAX_KINDS:
            self._counted[stated, from_server] = ProtocolError(stated, 1, at_ns, at_ns, from_server)

    def errors(self) -> tuple[ProtocolError, ...]:
        """All of them, oldest first."""
        return tuple(sorted(self._counted.values(), key=lambda error: (error.first_ns, error.text)))


_MAX_OPEN = 64


class PingTally:
    """PINGs without a PONG, by `to_server`. A PONG belongs to the oldest open PING of the other side."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[bool, deque[int]] = {way: deque(maxlen=_MAX_OPEN) for way in (False, True)}

    def ping(self, at_ns: int, *, to_server: bool) -> None:
        """Add a PING in that direction."""
        self._open[to_server].append(at_ns)

    def pong(self, *, to_server: bool) -> None:
        """Match a PONG with a PING of the other direction; one without a PING in the capture is ignored."""
        if waiting := self._open[not to_server]:
            waiting.popleft()

    def forget(self) -> None:
        """Lines were lost: which PONG belongs to which PING is no longer known."""
        for waiting in self._open.values():
            if waiting:
                waiting.clear()

    def longest_wait_ns(self, end_ns: int) -> int:
        """How long the oldest open one has waited."""
        return max((end_ns - waiting[0] for waiting in self._open.values() if waiting), default=0)
