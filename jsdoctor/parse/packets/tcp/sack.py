"""Selective acks (RFC 2018) and duplicate ones (RFC 2883): what they show of the network behind the capture point.

A gap that the receiver reports of segments that passed here, and that closes though nobody sent them again, was
reordering (draft-zimmermann-tcpm-reordering-detection).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from struct import Struct

from jsdoctor.parse.packets.tcp.needless import received_twice
from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.state import State

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
        _gaps(data, low, spans)


def close_below(state: State, position: int) -> None:
    """The peer has everything below that position: gaps below have closed."""
    for hole in [hole for hole in state.sack_holes if hole[1] <= position]:
        _closed(state, hole)
    state.sacked = [span for span in state.sacked if span[1] > position]


def sent_again(state: State, start: int, end: int) -> None:
    """These bytes were sent again: a gap there closes because of that."""
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


def _gaps(data: State, low: int, spans: Sequence[tuple[int, int]]) -> None:
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
        _closed(data, hole)


def _closed(state: State, hole: tuple[int, int]) -> None:
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
