"""Follows one direction, packet by packet. The next packet in order takes the shortest path through `follow`."""

from __future__ import annotations

from jsdoctor.packets.segment import ACK, FIN, HALF, MASK, RST, SYN, URG, Segment, ahead, ahead16
from jsdoctor.packets.tcp.acks import acknowledged, odd_ack, room, same_ack, selective_acks
from jsdoctor.packets.tcp.judge import join, late_data, open_hole
from jsdoctor.packets.tcp.state import USUAL_FULL, Checksum, State, checksum

_USABLE = (Checksum.GOOD, Checksum.PENDING)
_SPECIAL = FIN | SYN | RST | URG
_USUAL_OPTIONS = 12
_ID_PAUSE_NS = 100_000_000
_ID_STEP = 64
_ID_LEAP = 4096
_ALWAYS_TIMED, _TIMED_MASK = 64, 15  # the first segments, and every 16th later


def follow(state: State, segment: Segment, frame: int, at: int, block: bytes, view: memoryview) -> None:  # noqa: C901, PLR0912, PLR0915, PLR0917
    """Take in one packet of that direction: number `frame` of its file, at that time, payload in `view`.

    Every packet comes through here: calls and lookups are what it costs, therefore it is in one piece.
    """
    _, seq, ack, flags, window, options_at, payload_at, captured, length, ip_id, ts_val, hops, congested = segment
    state.packets += 1
    repeated = False
    if ip_id >= 0:
        if ip_id - state.ip_id & 0xFFFF == 1:
            state.id_steps += 1
        else:
            repeated = _step_of_id(state, ip_id, at)
        state.ip_id = ip_id
    state.last_at = at
    state.ts_val = ts_val
    if congested:
        state.congestion_marks += 1
    if (flags & _SPECIAL or state.next_offset is None) and not special(state, segment, at, block, repeated=repeated):
        if flags & SYN and length:  # fast open
            state.packets -= 1
            follow(state, (segment[0], seq + 1 & MASK, ack, flags & ~SYN, *segment[4:]), frame, at, block, view)
        return
    if ack != state.ack:
        if ack - state.ack & MASK < HALF or state.ack < 0:
            peer = state.peer
            if (
                peer.next_offset is not None
                and 0 < (ack - peer.next_seq & MASK) < HALF
                and is_damaged(state, segment, block)
            ):
                return
            state.ack = ack
            state.acks_same = 0
            if peer.next_offset is not None and (peer.watched or 0 < (ack - peer.next_seq & MASK) < HALF):
                acknowledged(peer, ack, at)
    elif not length and window == state.window and seq == state.next_seq and not flags & FIN:
        if repeated:
            state.duplicate_packets += 1
            return
        same_ack(state)
    if window != state.window and (window or not is_damaged(state, segment, block)):
        if not window or state.zero_since:
            room(state, window, at)
        state.window = window
    if payload_at - options_at > _USUAL_OPTIONS:
        selective_acks(state, ack, block[options_at:payload_at])
    if length:
        if seq != state.next_seq and is_damaged(state, segment, block):
            return
        state.segments += 1
        state.bytes += length
        if seq == state.next_seq:
            if length > state.full:
                join(state, length)
            start: int = state.next_offset  # type: ignore[assignment]  # `special` has set it
            state.next_seq = seq + length & MASK
            state.next_offset = end = start + length
            state.distinct += 1
            state.distinct_bytes += length
            state.ring.append((start, end, ip_id, ts_val, at, state.epoch, hops, False))
            if not state.timed_at and (state.distinct < _ALWAYS_TIMED or not state.distinct & _TIMED_MASK):
                state.timed_at, state.timed_end, state.watched = at, end, True
            if state.observer is not None:
                state.observer.data(state.direction, start, at, view[payload_at : payload_at + captured], length)
        elif seq - state.next_seq & MASK < HALF:
            open_hole(state, segment, at, view)
        else:
            late_data(state, segment, frame, at, view)
    elif seq != state.next_seq and not is_damaged(state, segment, block):
        odd_ack(state, segment, at)
    if flags & FIN:
        finish_side(state, seq + length & MASK)


def is_damaged(state: State, segment: Segment, block: bytes) -> bool:
    """Whether a packet contradicts its checksum, while the first packet of its side did not. Counts it as damaged."""
    if state.checked not in _USABLE or checksum(segment, block) is not Checksum.BAD:
        return False
    state.damaged += 1
    return True


def _step_of_id(state: State, ip_id: int, at: int) -> bool:
    """Count the step from the last IP id. Returns whether a non-zero id repeats.

    A leap after a pause begins a new epoch: a counter of the whole host went on.
    """
    if state.ip_id < 0:
        return False
    step = ahead16(ip_id, state.ip_id)
    if step == 0:
        state.id_still += 1
        return ip_id > 0
    if -_ID_LEAP < step < _ID_LEAP:
        state.id_steps += 1
    else:
        state.id_leaps += 1
    if abs(step) > _ID_STEP and at - state.last_at > _ID_PAUSE_NS:
        state.epoch += 1
    return False


_MAX_SIZE, _WINDOW_SCALE, _TIMESTAMPS = 2, 3, 8
_TIMESTAMPS_SIZE = 12
_MAX_SCALE = 14


def special(state: State, segment: Segment, at: int, block: bytes, *, repeated: bool) -> bool:
    """Take the first packet, or one with SYN or RST. Returns whether it is followed like any other, too."""
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
    """Note that this side has sent FIN, which takes one sequence number."""
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
    """Set what packets of both sides carry at most: the smaller of both announced sizes, less the timestamps."""
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
