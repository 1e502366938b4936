"""The clock of the capturing host: set forward or back during a capture, as TCP timestamps show.

A clock that is set makes every duration across that moment wrong. From there on, times are taken back by the step.
"""

from __future__ import annotations

from jsdoctor.model.packets import CaptureClockStep
from jsdoctor.parse.packets.segment import Segment
from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.state import MILLISECOND, State
from jsdoctor.parse.packets.tcp.ticks import measured_tick

JUMP_NS = 2_000 * MILLISECOND
BACK_NS = 1_000 * MILLISECOND
"""Several queues, and several interfaces, show packets out of order by less."""

_SLOWEST_TICK_NS = 20 * MILLISECOND
_MOST_STEPS = 16


class CaptureClock:
    """Finds the steps; `shift_ns` is by how much the clock is ahead of where it began."""

    def __init__(self) -> None:
        self.shift_ns = 0
        self.steps: list[CaptureClockStep] = []

    def look(self, at: int, last_at: int, segment: Segment, state: State | None) -> int:
        """The time of a packet that does not fit the one before; both without the shift so far."""
        if len(self.steps) >= _MOST_STEPS:
            return at
        step = _step(at, last_at, segment, state)
        if step:
            self.steps.append(CaptureClockStep(max(last_at, 0), step))
            self.shift_ns += step
        return at - step


def _step(at: int, last_at: int, segment: Segment, state: State | None) -> int:
    """By how much the clock was set between the last packet and this one, 0 when it was not, or nobody can tell."""
    ts_val = segment[10]
    known = state is not None and state.ts_val >= 0 <= ts_val and state.last_at > 0
    if state is None or not known:
        return at - last_at if at < last_at - BACK_NS else 0
    ticks = ahead(ts_val, state.ts_val)
    if ticks < 0:
        return 0
    tick_ns = measured_tick(state)
    passed_ns = at - state.last_at
    by_ticks_ns = ticks * (tick_ns or MILLISECOND)
    most_ns = (by_ticks_ns * 3 // 2 if tick_ns else ticks * _SLOWEST_TICK_NS) + BACK_NS
    if passed_ns > most_ns or passed_ns < -BACK_NS:
        return passed_ns - by_ticks_ns
    return 0
