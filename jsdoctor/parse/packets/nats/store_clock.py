"""The clock that dates stored messages against the clock of the capture, as an interval.

A message is stored after it was seen to be published and before its acknowledgement was seen, and before it is
delivered. The time it was stored at stands in the reply subject of its delivery.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from jsdoctor.model.nats_traffic import StoreClock
from jsdoctor.parse.packets.nats.identity import text

_KEPT = 50_000
_STREAMS = 1_000
_JITTER_NS = 1_000_000
"""Captures stamp packets up to so much out of order (several queues, several interfaces)."""


class _Bounds:
    __slots__ = ("high_ns", "low_ns", "messages")

    def __init__(self) -> None:
        self.low_ns: int | None = None
        self.high_ns: int | None = None
        self.messages = 0


class StoreClockBook:
    """Collects from all connections of a capture."""

    def __init__(self) -> None:
        self._news: deque[tuple[str, int, int, int]] = deque(maxlen=_KEPT)
        self._stored: OrderedDict[tuple[bytes, int], tuple[int, int]] = OrderedDict()
        self._streams: dict[bytes, _Bounds] = {}

    def stored(self, stream: str, stream_seq: int, published_ns: int, acknowledged_ns: int) -> None:
        """A publish and its first acknowledgement were both seen; never for a duplicate.

        They are needed only for deliveries, and many captures have none: until the first one they stay unsorted.
        """
        self._news.append((stream, stream_seq, published_ns, acknowledged_ns))

    def _sort_in(self) -> None:
        for stream, stream_seq, published_ns, acknowledged_ns in self._news:
            if len(self._stored) >= _KEPT:
                self._stored.popitem(last=False)
            self._stored[stream.encode(), stream_seq] = (published_ns, acknowledged_ns)
        self._news.clear()

    def delivered(self, stream: bytes, stream_seq: int, stored_ns: int, at_ns: int) -> None:
        """A delivery says when the message was stored."""
        if self._news:
            self._sort_in()
        bounds = self._streams.get(stream)
        if bounds is None:
            if len(self._streams) >= _STREAMS:
                return
            bounds = self._streams[stream] = _Bounds()
        seen = self._stored.pop((stream, stream_seq), None)
        low_ns = stored_ns - (min(seen[1], at_ns) if seen else at_ns)
        bounds.low_ns = low_ns if bounds.low_ns is None else max(bounds.low_ns, low_ns)
        bounds.messages += 1
        if seen:
            high_ns = stored_ns - seen[0]
            bounds.high_ns = high_ns if bounds.high_ns is None else min(bounds.high_ns, high_ns)

    def clocks(self) -> tuple[StoreClock, ...]:
        """One for each stream, by name."""
        return tuple(
            store_clock(stream, bounds.low_ns or 0, bounds.high_ns, bounds.messages)
            for stream, bounds in sorted(self._streams.items())
        )


def store_clock(stream: bytes, low_ns: int, high_ns: int | None, messages: int) -> StoreClock:
    """By how much that stream's clock is ahead, from the bounds that its messages set."""
    steady = high_ns is None or low_ns - high_ns <= _JITTER_NS
    if high_ns is not None and low_ns > high_ns:
        low_ns, high_ns = high_ns, low_ns
    return StoreClock(stream=text(stream), low_ns=low_ns, high_ns=high_ns, messages=messages, steady=steady)
