"""Acknowledgements: round trips, windows, what the capture did not see, and what was sent again though it had arrived.

A gap that the receiver reports of segments that passed here, and that closes though nobody sent them again, was
reordering (draft-zimmermann-tcpm-reordering-detection).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from struct import Struct

from jsdoctor.packets.segment import FIN, Segment, ahead
from jsdoctor.packets.tcp.state import BY_ACK, BY_PEER, MAX_HOLES, MILLISECOND, Hole, Resent, State


def was_needless(state: State, resent: Resent) -> None:
    """Count one more sending of these bytes as needless, but no more than there were."""
    if resent.needless < resent.count:
        resent.needless += 1
        state.needless += 1
        state.needless_packets += resent.packets
        if not resent.was_needed:
            state.needless_timeouts += resent.timeouts
            resent.vain_timeouts = resent.timeouts


def received_twice(state: State, left: int, right: int) -> None:
    """Count a DSACK: the receiver got the bytes between these sequence numbers once more."""
    last = state.next_offset or 0
    start, end = last + ahead(left, state.next_seq), last + ahead(right, state.next_seq)
    known = state.resent.get(start)
    if known is not None and known.end >= end:
        was_needless(state, known)
        return
    for begins, resent in state.resent.items():
        if begins < end and resent.end > start:
            was_needless(state, resent)


_SACK = 5
_EDGES = Struct(">II")
_MAX_SPANS = 64
_MAX_RECENT = 64
_MAX_HOLES = 256


def selective_acks(state: State, ack: int, options: bytes) -> None:
    """Take in the SACK blocks of a packet of `state`, which acknowledges `ack`."""
    blocks = _blocks(options)
    data = state.peer
    if not blocks or data.next_offset is None:
        return
    state.sacks += 1
    if _is_duplicate(blocks, ack):
        state.dsacks += 1
        received_twice(data, *blocks[0])
        blocks = blocks[1:]
    low = data.next_offset + ahead(ack, data.next_seq)
    spans = [(low + ahead(left, ack), low + ahead(right, ack)) for left, right in blocks]
    spans = [span for span in spans if low < span[0] < span[1]]
    if spans:
        state.sacking_at = ack
        _note_gaps(data, low, spans)


def close_below(state: State, position: int) -> None:
    """Close the gaps below that position: the peer has everything there."""
    for hole in [hole for hole in state.sack_holes if hole[1] <= position]:
        _close_gap(state, hole)
    state.sacked = [span for span in state.sacked if span[1] > position]


def sent_again(state: State, start: int, end: int) -> None:
    """Note that these bytes were sent again: gaps there then close because of that."""
    for left, right in state.sack_holes:
        if left < end and right > start:
            state.sack_holes[left, right] = True


def _blocks(options: bytes) -> list[tuple[int, int]]:
    at, size = 0, len(options)
    while at + 1 < size and options[at]:
        kind = options[at]
        if kind == 1:
            at += 1
            continue
        length = options[at + 1]
        if length < 2:
            break
        if kind == _SACK:
            ends = range(at + 2, min(at + length, size) - 7, 8)
            return [_EDGES.unpack_from(options, start) for start in ends]
        at += length
    return []


def _is_duplicate(blocks: Sequence[tuple[int, int]], ack: int) -> bool:
    """Whether the first block is below the ack or inside the second one."""
    left, right = blocks[0]
    if ahead(right, ack) <= 0:
        return True
    return len(blocks) > 1 and ahead(left, blocks[1][0]) >= 0 and ahead(right, blocks[1][1]) <= 0


def _is_resent(data: State, start: int, end: int) -> bool:
    """Whether these bytes were sent again lately."""
    if start in data.resent:
        return True
    recent = islice(reversed(data.resent.items()), _MAX_RECENT)
    return any(begins < end and resent.end > start for begins, resent in recent)


def _note_gaps(data: State, low: int, spans: Sequence[tuple[int, int]]) -> None:
    """Note the segments that passed here and that the receiver still lacks though it has later ones."""
    data.sacked = merged((*data.sacked, *spans))[-_MAX_SPANS:]
    data.watched = True
    high = max(right for _, right in spans)
    for start, end, *_, late in reversed(data.ring):
        if end <= low and not late:
            break
        if late or start < low or end > high or _within(start, end, data.sacked):
            continue
        if len(data.sack_holes) < _MAX_HOLES:
            already = _is_resent(data, start, end)
            data.sack_holes.setdefault((start, end), already)
    for hole in [hole for hole in data.sack_holes if _within(*hole, data.sacked)]:
        _close_gap(data, hole)


def _close_gap(state: State, hole: tuple[int, int]) -> None:
    if not state.sack_holes.pop(hole):
        state.downstream += 1


def _within(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(left <= start and end <= right for left, right in spans)


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in as few spans as possible, in order."""
    merged_ranges: list[tuple[int, int]] = []
    for left, right in sorted(spans):
        if merged_ranges and left <= merged_ranges[-1][1]:
            merged_ranges[-1] = merged_ranges[-1][0], max(right, merged_ranges[-1][1])
        else:
            merged_ranges.append((left, right))
    return merged_ranges


_MAX_WINDOW = 1 << 30
_DISORDER_NS = 50 * MILLISECOND
"""How long acknowledged bytes are waited for: captures of several queues may show an ack before its data."""


def acknowledged(state: State, ack: int, at: int) -> None:
    """Take a new `ack` of the peer, which has everything of `state` below it."""
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
        _expire_holes(state, position, at)
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
    """Count a hole that nothing will fill any more as missed by the capture, or as unfilled."""
    if not hole.acked_at:
        state.unfilled += hole.end - hole.start
        return
    state.missed += hole.end - hole.start
    if state.observer is not None:
        state.observer.lost(state.direction, hole.start, hole.end)


def same_ack(state: State) -> None:
    """Count a repeated ack, without data and with the same window, if data is on its way to this side."""
    peer = state.peer
    if peer.next_offset is None or peer.next_seq == state.ack or state.zero_since:
        return
    state.duplicate_acks += 1
    state.acks_same += 1


def odd_ack(state: State, segment: Segment, at: int) -> None:
    """Take a packet without data whose sequence number is not the next: a keep-alive, or data is missing before it."""
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
    """Note that the window of this side has become zero, or is not zero any more."""
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


def _expire_holes(state: State, position: int, at: int) -> None:
    """Give up holes whose bytes the peer acknowledged longer ago than `_DISORDER_NS`."""
    for hole in [hole for hole in state.holes if hole.end <= position]:
        if not hole.acked_at:
            hole.acked_at = at
        elif at - hole.acked_at > _DISORDER_NS:
            state.holes.remove(hole)
            give_up(state, hole)
