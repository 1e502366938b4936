"""The clock of the capturing host: set forward or back during a capture, as TCP timestamps show.

A clock that is set makes every duration across that moment wrong. From there on, times are taken back by the step.
Not every packet behind a jump can tell: a new connection has no earlier timestamp, a late packet has an old one. Such
packets wait until one comes that can.
"""

from __future__ import annotations

from typing import Final

from jsdoctor.model.packets import CaptureClockStep
from jsdoctor.parse.packets.segment import CapturedPacket, Segment
from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.state import MILLISECOND, State
from jsdoctor.parse.packets.tcp.ticks import measured_tick

JUMP_NS = 2_000 * MILLISECOND
BACK_NS = 1_000 * MILLISECOND
"""Several queues, and several interfaces, show packets out of order by less."""

_SLOWEST_TICK_NS = 20 * MILLISECOND
_MAX_STEPS = 16
_MAX_HELD = 64


class CaptureClock:
    """Finds the steps; `shift_ns` is by how much the clock is ahead of where it began."""

    def __init__(self) -> None:
        self.shift_ns = 0
        self.steps: list[CaptureClockStep] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether so many steps were found that no more are looked for."""
        return len(self.steps) >= _MAX_STEPS

    def set_by(self, step: int, last_at: int) -> None:
        """The clock was set by so much after the packet of that time; 0: it was not."""
        if step:
            self.steps.append(CaptureClockStep(max(last_at, 0), step))
            self.shift_ns += step


class Held:
    """Packets behind a jump in time, in the order of the capture. `last_at` is the time of the last one before."""

    __slots__ = ("last_at", "packets", "previous_at")

    def __init__(self, last_at: int) -> None:
        self.last_at = last_at
        self.previous_at: int | None = None
        self.packets: list[CapturedPacket] = []

    def is_another_jump(self, at: int) -> bool:
        """Whether a packet of that time does not follow the ones that wait."""
        before = self.previous_at
        return before is not None and not before - BACK_NS <= at <= before + JUMP_NS

    def step(self, at: int, segment: Segment, state: State | None) -> int | None:
        """By how much the clock was set before this packet: 0 when it was not, None when this packet cannot tell."""
        self.previous_at = at
        ticks = _ticks(segment, state)
        if state is None or ticks is None:
            return at - self.last_at if at < self.last_at - BACK_NS else None
        passed_ns = at - state.last_at
        if ticks < 0:
            return None  # sent before the last one
        tick_ns = measured_tick(state)
        by_ticks_ns = ticks * (tick_ns or MILLISECOND)
        usual_ns = by_ticks_ns * 3 // 2 + BACK_NS
        if -BACK_NS <= passed_ns <= usual_ns:
            return 0
        if not tick_ns and usual_ns < passed_ns <= ticks * _SLOWEST_TICK_NS + BACK_NS:
            return None  # a sender whose timestamps go slowly, or a clock that was set
        return passed_ns - by_ticks_ns

    def hold(self, packet: CapturedPacket) -> bool:
        """Keep a packet that cannot tell; whether there is room for another one."""
        self.packets.append(packet.alone())
        return len(self.packets) < _MAX_HELD


def _ticks(segment: Segment, state: State | None) -> int | None:
    """By how much the sender's timestamps have advanced; None when nothing is known."""
    ts_val = segment[10]
    if state is None or ts_val < 0 or state.ts_val < 0 or state.last_at <= 0:
        return None
    return ahead(ts_val, state.ts_val)


HOLDING: Final = 1 << 80
"""Stands for the time of the last packet while packets are held: every time is less."""
