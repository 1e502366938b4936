"""What one step of a host's TCP timestamps takes (RFC 7323): a millisecond on Linux, 10 or more elsewhere."""

from __future__ import annotations

from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.state import MILLISECOND, State

_MIN_TICKS = 10
_MAX_TICK_NS = 1000 * MILLISECOND


def measured_tick(state: State) -> int:
    """In ns, from the segments that are remembered; 0 when they span too few steps."""
    if not state.ring:
        return 0
    first, last = state.ring[0], state.ring[-1]
    ticks = ahead(last[3], first[3]) if first[3] >= 0 and last[3] >= 0 else 0
    if ticks < _MIN_TICKS:
        return 0
    return min(max((last[4] - first[4]) // ticks, MILLISECOND // 10), _MAX_TICK_NS)


def tick(state: State) -> int:
    """The same, or a millisecond when it cannot be measured."""
    return measured_tick(state) or MILLISECOND
