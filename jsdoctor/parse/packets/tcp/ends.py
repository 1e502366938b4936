"""The ends of a connection: SYN, FIN, RST, and being met midway."""

from __future__ import annotations

from jsdoctor.parse.packets.segment import ACK, RST, SYN, Segment
from jsdoctor.parse.packets.tcp.acks import acknowledged
from jsdoctor.parse.packets.tcp.checksum import Checksum, checksum
from jsdoctor.parse.packets.tcp.numbers import MASK, ahead
from jsdoctor.parse.packets.tcp.state import USUAL_FULL, State

_MAX_SIZE, _WINDOW_SCALE, _TIMESTAMPS = 2, 3, 8
_TIMESTAMPS_SIZE = 12
_MAX_SCALE = 14


def special(state: State, segment: Segment, at: int, block: bytes, *, repeated: bool) -> bool:
    """Take in what is special about a packet; whether it is to be followed like any other, too."""
    flags = segment[3]
    if state.next_offset is None or flags & SYN:
        state.checked = state.checked or checksum(segment, block)
    if flags & RST and state.checked in {Checksum.GOOD, Checksum.PENDING} and checksum(segment, block) is Checksum.BAD:
        state.damaged += 1
        return False
    if flags & RST:
        _reset(state, segment, at)
        return False
    if flags & SYN:
        _open(state, segment, at, block, repeated=repeated)
        return False
    if state.next_offset is None:
        _begin(state, segment[1], segment[2] if flags & ACK else -1)
    return True


def _reset(state: State, segment: Segment, at: int) -> None:
    state.resets += 1
    state.reset = True
    if not state.ended_at:
        state.ended_at = at
        if not state.peer.ended_at:
            state.cut_at = at
            hops = segment[11]
            state.cut_hops = abs(state.ring[-1][6] - hops) if state.ring else 0


def _begin(state: State, seq: int, ack: int) -> None:
    state.next_seq = seq
    state.next_offset = 0
    state.ack = ack


def _open(state: State, segment: Segment, at: int, block: bytes, *, repeated: bool) -> None:
    _, seq, ack, flags, window, options_at, payload_at = segment[:7]
    if state.isn == seq:
        if repeated:
            state.duplicate_packets += 1
        else:
            state.syn_again += 1
            state.timed_at = 0  # the response may be to either (Karn)
        return
    if state.next_offset is None:
        _begin(state, seq + 1 & MASK, ack if flags & ACK else -1)
    state.isn = seq
    options = _options(block[options_at:payload_at])
    state.scale = min(int.from_bytes(options.get(_WINDOW_SCALE, b""), "big"), _MAX_SCALE)
    _agree_on_size(state, options)
    state.window = window
    state.timed_at, state.timed_end, state.watched = at, 0, True
    if flags & ACK and state.peer.next_offset is not None:
        acknowledged(state.peer, ack, at)


def finish_side(state: State, fin_seq: int) -> None:
    """This side sends no more: FIN takes one number of the sequence."""
    state.ended_at = state.ended_at or state.last_at
    if state.fin_seq == fin_seq:
        state.fin_again += 1
    elif state.next_seq == fin_seq and state.next_offset is not None:
        state.fin_seq = fin_seq
        state.next_seq = fin_seq + 1 & MASK
        state.next_offset += 1
        state.closed = True
    elif ahead(fin_seq, state.next_seq) > 0:
        state.closed = True


def _agree_on_size(state: State, options: dict[int, bytes]) -> None:
    """What packets of both sides carry at most: the smaller of both announcements, less the timestamps."""
    offered = int.from_bytes(options.get(_MAX_SIZE, b""), "big") or USUAL_FULL
    known = state.peer.isn >= 0
    size = offered - (_TIMESTAMPS_SIZE if _TIMESTAMPS in options else 0)
    if size > 0:
        state.full = state.peer.full = min(size, state.peer.full) if known else size


def _options(options: bytes) -> dict[int, bytes]:
    """TCP options by kind, the first of each (RFC 9293, section 3.2)."""
    tcp_options: dict[int, bytes] = {}
    at = 0
    while at + 1 < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1]
        if size < 2 or at + size > len(options):
            break
        tcp_options.setdefault(options[at], options[at + 2 : at + size])
        at += size
    return tcp_options
