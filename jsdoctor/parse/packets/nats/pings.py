"""PING and PONG of a connection: round trips, and pings without a PONG."""

from __future__ import annotations

from collections import deque

from jsdoctor.model.latency import LatencyTally

_OPEN = 64


class PingTally:
    """Both directions. A PONG belongs to the oldest open PING of the other side."""

    __slots__ = ("_open", "answered_ns")

    def __init__(self) -> None:
        self._open: tuple[deque[int], deque[int]] = (deque(maxlen=_OPEN), deque(maxlen=_OPEN))
        self.answered_ns = LatencyTally()

    def ping(self, at_ns: int, *, to_server: bool) -> None:
        """A PING that way."""
        self._open[to_server].append(at_ns)

    def pong(self, at_ns: int, *, to_server: bool) -> None:
        """Match a PONG with a PING of the other direction; one without a PING in the capture is ignored."""
        if waiting := self._open[not to_server]:
            self.answered_ns.add(at_ns - waiting.popleft())

    def forget(self) -> None:
        """Lines were lost: which PONG belongs to which PING is no longer known."""
        for waiting in self._open:
            if waiting:
                waiting.clear()

    @property
    def unanswered(self) -> int:
        """How many are open."""
        return sum(map(len, self._open))

    def longest_wait_ns(self, end_ns: int) -> int:
        """How long the oldest open one has waited."""
        return max((end_ns - waiting[0] for waiting in self._open if waiting), default=0)
