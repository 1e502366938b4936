"""Messages that are only a status, and what follows from them: ended pulls, idle heartbeats, flow control.

Source: nats-server consumer.go (`sendIdleHeartbeat`, `sendFlowControl`, `Exceeded …`), ADR-9 and ADR-13 of NATS.
"""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.nats_traffic import IdleHeartbeats, StatusMessages, StreamFlow
from jsdoctor.parse.packets.nats.identity import text

HEARTBEAT = 100
FLOW_PREFIX = b"$JS.FC."
_KINDS = 40
_SIDS = 5_000
_OPEN = 1_000
_MAX = 120


class StatusTally:
    """Counts statuses by code and text."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[tuple[int, bytes], StatusMessages] = {}

    def add(self, at_ns: int, code: int, words: bytes) -> None:
        """One more."""
        key = (code, words[:_MAX])
        known = self._found.get(key)
        if known is not None:
            self._found[key] = StatusMessages(code, known.text, known.count + 1, known.first_ns, at_ns)
        elif len(self._found) < _KINDS:
            self._found[key] = StatusMessages(code, text(key[1]), 1, at_ns, at_ns)

    def statuses(self) -> tuple[StatusMessages, ...]:
        """All of them, the most frequent first."""
        return tuple(sorted(self._found.values(), key=lambda item: (-item.count, item.code, item.text)))


class _Idle:
    """One subscription: its least interval between two heartbeats, and the longest silence behind one."""

    __slots__ = ("interval_ns", "last_ns", "silence_ns")

    def __init__(self) -> None:
        self.interval_ns = self.silence_ns = self.last_ns = 0


class HeartbeatTally:
    """Idle heartbeats by subscription. A subscription without them is not followed."""

    __slots__ = ("_idle", "count")

    def __init__(self) -> None:
        self._idle: dict[bytes, _Idle] = {}
        self.count = 0

    def heartbeat(self, at_ns: int, sid: bytes) -> None:
        """One on that subscription."""
        self.count += 1
        idle = self._idle.get(sid)
        if idle is None:
            if len(self._idle) >= _SIDS:
                return
            idle = self._idle[sid] = _Idle()
        if idle.last_ns:
            passed_ns = max(at_ns - idle.last_ns, 0)
            idle.interval_ns = min(idle.interval_ns or passed_ns, passed_ns)
            idle.silence_ns = max(idle.silence_ns, passed_ns)
        idle.last_ns = at_ns

    def received(self, at_ns: int, sid: bytes) -> None:
        """Anything else on that subscription: the server is alive, and need not send a heartbeat."""
        idle = self._idle.get(sid)
        if idle is not None and idle.last_ns:
            idle.silence_ns = max(idle.silence_ns, at_ns - idle.last_ns)
            idle.last_ns = 0

    def ended(self, sid: bytes) -> None:
        """What sent heartbeats there is over: a pull, or the consumer."""
        if idle := self._idle.get(sid):
            idle.last_ns = 0

    def forget(self) -> None:
        """Lines were lost: silence proves nothing."""
        self._idle.clear()

    def idle(self, end_ns: int) -> IdleHeartbeats:
        """The subscription with the longest silence for its interval; the end of the capture ends it, too."""
        idle = [(item.interval_ns, item.silence_ns, item.last_ns) for item in self._idle.values()]
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
    """Requests of flow control, to which the client responds when it has worked off what came before."""

    __slots__ = ("_open", "answered", "longest_ns", "requests", "stalled")

    def __init__(self) -> None:
        self._open: dict[bytes, int] = {}
        self.requests = self.answered = self.stalled = self.longest_ns = 0

    def request(self, at_ns: int, subject: bytes) -> None:
        """The server asks."""
        self.requests += 1
        if len(self._open) < _OPEN:
            self._open.setdefault(subject, at_ns)

    def stall(self, at_ns: int, subject: bytes) -> None:
        """A heartbeat reports that deliveries wait for this response."""
        self.stalled += 1
        if subject not in self._open:
            self.request(at_ns, subject)

    def answer(self, at_ns: int, subject: bytes) -> None:
        """The client responds."""
        asked_ns = self._open.pop(subject, None)
        if asked_ns is not None:
            self.answered += 1
            self.longest_ns = max(self.longest_ns, at_ns - asked_ns)

    def forget(self) -> None:
        """Lines were lost: a response may have been among them."""
        self._open.clear()

    def flow(self, end_ns: int) -> StreamFlow:
        """All of it when the connection or the capture ended."""
        waiting_ns = max((end_ns - at_ns for at_ns in self._open.values()), default=0)
        return StreamFlow(
            requests=self.requests,
            answered=self.answered,
            open=len(self._open),
            stalled=self.stalled,
            longest_ns=max(self.longest_ns, 0),
            waiting_ns=max(waiting_ns, 0),
        )
