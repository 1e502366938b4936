"""Acknowledgements: round trips, what the peer got and the capture did not, windows."""

from __future__ import annotations

from jsdoctor.parse.packets.segment import FIN, Segment
from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.sack import close_below
from jsdoctor.parse.packets.tcp.state import BY_ACK, BY_PEER, MAX_HOLES, MILLISECOND, Hole, State

_MAX_WINDOW = 1 << 30
_DISORDER_NS = 50 * MILLISECOND
"""Captures of several queues may show an ack before what it acknowledges: so long that is waited for."""


def acknowledged(state: State, ack: int, at: int) -> None:
    """The peer of `state` has everything below `ack`, which it said for the first time."""
    end = state.next_offset or 0
    position = end + ahead(ack, state.next_seq)
    if end < position <= end + _MAX_WINDOW:
        hole = Hole(end, position, at, BY_PEER)
        hole.acked_at = at
        add_hole(state, hole)
        state.next_offset, state.next_seq = position, ack
    if state.timed_at and position >= state.timed_end:
        _round_trip(state, at - state.timed_at)
    if state.holes:
        _settle(state, position, at)
    if state.sacked or state.sack_holes:
        close_below(state, position)
    state.watched = bool(state.timed_at or state.holes or state.sacked or state.sack_holes)


def add_hole(state: State, hole: Hole) -> None:
    """Add one more hole; of too many the oldest is dropped."""
    if len(state.holes) >= MAX_HOLES:
        give_up(state, state.holes.pop(0))
    state.holes.append(hole)
    state.watched = True


def give_up(state: State, hole: Hole) -> None:
    """Nothing will fill this hole any more."""
    if not hole.acked_at:
        state.unfilled += hole.end - hole.start
        return
    state.missed += hole.end - hole.start
    if state.observer is not None:
        state.observer.lost(state.direction, hole.start, hole.end)


def same_ack(state: State) -> None:
    """This side repeats its last ack, without data and with the same window: it waits, if anything is on its way."""
    peer = state.peer
    if peer.next_offset is None or peer.next_seq == state.ack or state.zero_since:
        return
    state.duplicate_acks += 1
    state.acks_same += 1
    state.longest_same = max(state.longest_same, state.acks_same)


def odd_ack(state: State, segment: Segment, at: int) -> None:
    """A packet without data that does not carry the next number: a keep-alive, or data is still on its way."""
    step = ahead(segment[1], state.next_seq)
    if step == -1:
        state.keep_alives += not segment[3] & FIN
    elif 0 < step <= _MAX_WINDOW and state.next_offset is not None:
        hole = Hole(state.next_offset, state.next_offset + step, at, BY_ACK)
        hole.ip_id, hole.ts_val, hole.epoch, hole.index = segment[9], segment[10], state.epoch, state.distinct
        add_hole(state, hole)
        state.next_offset += step
        state.next_seq = segment[1]


def room(state: State, window: int, at: int) -> None:
    """This side's window has become zero, or is not zero any more."""
    if window:
        lasted = max(at - state.zero_since, 0)
        state.zero_since = 0
        state.zero_until = at
        state.zero_window_ns += lasted
        state.longest_zero_window = max(state.longest_zero_window, lasted)
    elif not state.zero_since:
        state.zero_windows += 1
        state.zero_since = at


def _round_trip(state: State, took: int) -> None:
    state.timed_at = 0
    took = max(took, 1)
    if not state.timed_end and state.isn >= 0:
        state.syn_rtt = took
    else:
        state.ack_rtt.add(took)
        state.least_rtt = min(state.least_rtt or took, took)


def _settle(state: State, position: int, at: int) -> None:
    """Holes that the peer has filled and the capture has not, for a while."""
    for hole in [hole for hole in state.holes if hole.end <= position]:
        if not hole.acked_at:
            hole.acked_at = at
        elif at - hole.acked_at > _DISORDER_NS:
            state.holes.remove(hole)
            give_up(state, hole)
