"""One direction of a TCP connection put in order, as its receiver read it: bounded, with every gap reported.

A segment behind a hole waits until the hole is filled, and is passed on with the time of the segment that filled it:
before that the receiver could not read it (head of line).
"""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple, Protocol

HELD_BYTES = 1024 * 1024
"""More than this behind a hole, and the hole is taken for bytes that the capture does not have."""
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
    """Feeds a sink in order. `start` is the offset of the first byte; None takes that of the first segment seen.

    `holes` never came. `held_back` counts segments that had to wait for a hole, `longest_hold_ns` is the longest such
    wait.
    """

    __slots__ = ("_held_bytes", "held", "held_back", "holes", "longest_hold_ns", "next", "sink")

    def __init__(self, sink: Sink, start: int | None = None) -> None:
        self.sink = sink
        self.next = start
        self.held: list[_Held] = []
        self._held_bytes = 0
        self.held_back = self.holes = 0
        self.longest_hold_ns = 0

    def segment(self, offset: int, at_ns: int, data: memoryview, wire_len: int) -> None:
        """One segment in the order of the capture. `data` may be shorter than `wire_len`."""
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
        self.held_back += 1
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
        """Declare the bytes up to `offset` missing, but for those that wait."""
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
