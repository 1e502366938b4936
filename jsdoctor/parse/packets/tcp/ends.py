"""The ends of a connection: SYN, FIN, RST, and being met midway."""

from __future__ import annotations

from jsdoctor.parse.packets.segment import ACK, RST, SYN, Segment
from jsdoctor.parse.packets.tcp.acks import acknowledged
from jsdoctor.parse.packets.tcp.numbers import MASK, ahead
from jsdoctor.parse.packets.tcp.state import State

_WINDOW_SCALE = 3
_LARGEST_SCALE = 14


def special(state: State, segment: Segment, at: int, block: bytes, *, repeated: bool) -> bool:
    """Take in what is special about a packet; whether it is to be followed like any other, too."""
    flags = segment[3]
    if flags & RST:
        state.resets += 1
        state.reset = True
        return False
    if flags & SYN:
        _open(state, segment, at, block, repeated=repeated)
        return False
    if state.next_offset is None:
        _begin(state, segment[1], segment[2] if flags & ACK else -1)
    return True


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
            state.timed_at = 0  # the answer may be to either (Karn)
        return
    if state.next_offset is None:
        _begin(state, seq + 1 & MASK, ack if flags & ACK else -1)
    state.isn = seq
    state.scale = _window_scale(block[options_at:payload_at])
    state.window = window
    state.timed_at, state.timed_end, state.watched = at, 0, True
    if flags & ACK and state.peer.next_offset is not None:
        acknowledged(state.peer, ack, at)


def finish_side(state: State, fin_seq: int) -> None:
    """This side sends no more: FIN takes one number of the sequence."""
    if state.fin_seq == fin_seq:
        state.fin_again += 1
    elif state.next_seq == fin_seq and state.next_offset is not None:
        state.fin_seq = fin_seq
        state.next_seq = fin_seq + 1 & MASK
        state.next_offset += 1
        state.closed = True
    elif ahead(fin_seq, state.next_seq) > 0:
        state.closed = True


def _window_scale(options: bytes) -> int:
    """The shift of the SYN's window scale option, 0 without one (RFC 7323)."""
    at = 0
    while at + 1 < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1]
        if options[at] == _WINDOW_SCALE and size == 3 and at + 2 < len(options):
            return min(options[at + 2], _LARGEST_SCALE)
        if size < 2:
            break
        at += size
    return 0
