"""The judgement of data that does not simply come next: an original, sent again, or a copy.

What opened the hole is compared with what fills it: the sender numbered them in the order of sending, by IPv4 ids or by
timestamps. Rules and their accuracy against known truth: docs/adr/0013.
"""

from __future__ import annotations

from jsdoctor.model.packets import Label, PacketEvent
from jsdoctor.packets.segment import MASK, Segment, ahead, ahead16
from jsdoctor.packets.tcp.acks import add_hole, sent_again, was_needless
from jsdoctor.packets.tcp.state import (
    BY_ACK,
    BY_DATA,
    BY_PEER,
    MAX_RESENT,
    MILLISECOND,
    Hole,
    Resent,
    Seen,
    State,
)

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


_MAX_WINDOW = 1 << 30
_GUESSED_ROUND_TRIP_NS = 3 * MILLISECOND


def open_hole(state: State, segment: Segment, at: int, view: memoryview) -> None:
    """Data behind bytes that have not come."""
    seq, payload_at, captured, length, ip_id, ts_val, hops = *segment[1:2], *segment[6:12]
    end = state.next_offset or 0
    start = end + ahead(seq, state.next_seq)
    if start - end > _MAX_WINDOW:
        return  # no window is that large: a damaged packet, or one of another connection
    hole = Hole(end, start, at, BY_DATA)
    hole.ip_id, hole.ts_val, hole.epoch, hole.index = ip_id, ts_val, state.epoch, state.distinct
    add_hole(state, hole)
    state.next_seq, state.next_offset = seq + length & MASK, start + length
    _first_seen(state, start, at, view[payload_at : payload_at + captured], length)
    state.ring.append((start, start + length, ip_id, ts_val, at, state.epoch, hops, False))


def late_data(state: State, segment: Segment, frame: int, at: int, view: memoryview) -> None:
    """Data that begins before what is due next."""
    seq, payload_at, captured, length, ip_id, ts_val, hops = *segment[1:2], *segment[6:12]
    due = state.next_offset or 0
    start = due + ahead(seq, state.next_seq)
    end = start + length
    if length == 1 and start == due - 1 and ahead(state.peer.ack, state.next_seq) >= 0:
        state.keep_alives += 1
        state.segments -= 1
        state.bytes -= 1
        return
    seen: Seen = (start, end, ip_id, ts_val, at, state.epoch, hops, True)
    copy = _copy_of(state, seen)
    if copy is not None:
        state.duplicates += 1
        state.duplicates_of_other_hop += hops != copy[6]
        state.notice(PacketEvent(frame, at, Label.DUPLICATE, start, length, at - copy[4]))
        return
    hole = next((hole for hole in state.holes if start < hole.end and end > hole.start), None)
    label, late_ns = _fills(state, seen, hole) if hole is not None else _judge_seen_bytes(state, seen)
    if label is not None:
        state.notice(PacketEvent(frame, at, label, start, length, late_ns))
    if hole is not None or end > due:
        _fill(state, start, end)
        _first_seen(state, start, at, view[payload_at : payload_at + captured], length)
    if end > due:
        state.next_offset, state.next_seq = end, seq + length & MASK
    state.ring.append(seen)
    state.timed_at = 0  # which copy an ack is for cannot be known (Karn)


def join(state: State, length: int) -> None:
    """A segment that the network card cuts into packets, or has put together from packets (TSO, GRO)."""
    state.oversized += 1
    state.joined += state.packets_of(length) - 1


def _first_seen(state: State, start: int, at: int, payload: memoryview, length: int) -> None:
    if length > state.full:
        join(state, length)
    state.distinct += 1
    state.distinct_bytes += length
    if state.observer is not None:
        state.observer.data(state.direction, start, at, payload, length)


def _copy_of(state: State, seen: Seen) -> Seen | None:
    """The packet of which this is a copy: the same bytes, the same IPv4 id and the same timestamp."""
    start, end, ip_id, ts_val = seen[:4]
    if ip_id <= 0 or state.id_still > state.id_steps + 8:
        return None
    for other in reversed(state.ring):
        if other[0] == start and other[1] == end and other[2] == ip_id and other[3] == ts_val:
            return other
    return None


def _fills(state: State, seen: Seen, hole: Hole) -> tuple[Label | None, int]:
    """Bytes that were not seen before, late: the original, or sent again after a loss before the capture point."""
    start, end, ip_id, ts_val, at, epoch = seen[:6]
    late_ns = max(at - hole.at, 0)
    if hole.opener == BY_PEER:
        return None, late_ns  # the capture showed the ack too early
    original = None
    if ip_id >= 0 and state.ids_tell and epoch == hole.epoch:
        original = ahead16(ip_id, hole.ip_id) < 0
    elif ts_val >= 0 and hole.ts_val >= 0:
        step = ahead(ts_val, hole.ts_val)
        original = step < 0 if step else late_ns < _round_trip(state) or late_ns * 2 > 3 * tick(state)
    if original is None:
        original = late_ns * 10 < _round_trip(state) * 9
    if not original:
        count_resent(state, (start, end), at, hole.at, hole.index, new=True)
        return Label.LOST_UPSTREAM, late_ns
    if hole.opener == BY_ACK and not any(other[0] >= end for other in state.ring):
        state.behind_ack += 1
        return Label.BEHIND_ACK, late_ns
    count_original(state, start, late_ns, hole.index)
    return Label.REORDERED, late_ns


def _judge_seen_bytes(state: State, seen: Seen) -> tuple[Label, int]:
    """Label and count bytes that were seen before: sent again, or the original of what had been sent again."""
    start, end, ip_id, ts_val, at, epoch = seen[:6]
    if ip_id <= 0 and (late_ns := _copied_by_time(state, seen)) >= 0:
        state.duplicates += 1
        return Label.DUPLICATE, late_ns
    first_at = at
    if first := next((other for other in reversed(state.ring) if other[0] <= start and other[1] >= end), None):
        _, _, first_ip_id, first_ts_val, first_at, first_epoch = first[:6]
        step = 0
        if ip_id >= 0 and state.ids_tell and first_epoch == epoch:
            step = ahead16(ip_id, first_ip_id)
        elif ts_val >= 0 and first_ts_val >= 0:
            step = ahead(ts_val, first_ts_val)
        if step < 0:
            return Label.REORDERED_NEEDLESS, _original_after_all(state, start, at, max(at - first_at, 0))
    late_ns = max(at - first_at, 0)
    if state.peer.zero_since:
        state.into_zero_window += 1
        return Label.INTO_ZERO_WINDOW, late_ns
    count_resent(state, (start, end), at, first_at, state.distinct, new=False)
    return Label.SENT_AGAIN, late_ns


def _copied_by_time(state: State, seen: Seen) -> int:
    """Without ids: how long after a packet of the same bytes and timestamp this came, -1 when it is no copy of one.

    Nobody sends again within half a round trip; after more than a tick and a half the timestamp would be another.
    """
    start, end, _, ts_val, at = seen[:5]
    for other in reversed(state.ring) if ts_val >= 0 else ():
        if other[0] == start and other[1] == end and other[3] == ts_val:
            late_ns = max(at - other[4], 0)
            return late_ns if late_ns * 2 < _round_trip(state) or late_ns * 2 > 3 * tick(state) else -1
    return -1


def _original_after_all(state: State, start: int, at: int, late_ns: int) -> int:
    """Count an original whose bytes had been sent again in vain; how late it was."""
    resent = state.resent.get(start)
    index = state.distinct
    if resent is not None:
        late_ns, index = max(at - resent.due_at, 0), resent.index
        was_needless(state, resent)
    state.reordered_needless += 1
    count_original(state, start, late_ns, index)
    return late_ns


def _fill(state: State, start: int, end: int) -> None:
    """Take these bytes out of all holes."""
    left: list[Hole] = []
    for hole in state.holes:
        if start >= hole.end or end <= hole.start:
            left.append(hole)
            continue
        if start > hole.start:
            left.append(_part(hole, hole.start, start))
        if end < hole.end:
            left.append(_part(hole, end, hole.end))
    state.holes = left


def _part(hole: Hole, start: int, end: int) -> Hole:
    part = Hole(start, end, hole.at, hole.opener)
    part.ip_id, part.ts_val, part.epoch = hole.ip_id, hole.ts_val, hole.epoch
    part.index, part.acked_at = hole.index, hole.acked_at
    return part


def _round_trip(state: State) -> int:
    """The network's round trip: of the handshake, else the least of acks on both sides, else a guess."""
    both = state.syn_rtt, state.peer.syn_rtt
    if not all(both):
        both = state.least_rtt, state.peer.least_rtt
    return sum(both) if all(both) else _GUESSED_ROUND_TRIP_NS


_MIN_TIMEOUT_NS = 200 * MILLISECOND
_DUPLICATE_ACKS = 2
_THREE = 3


def count_original(state: State, start: int, late_ns: int, opened_at_index: int) -> None:
    """An original that came late; `opened_at_index` distinct segments came before the first one that overtook it."""
    state.reordered += 1
    state.late_ns.add(late_ns)
    state.extent.add(max(state.distinct - opened_at_index, 1))
    state.free_run.add(max(state.distinct - state.last_reordered, 0))
    state.last_reordered = state.distinct
    ring = state.ring
    if len(ring) >= _THREE and all(ring[-back][0] > start for back in range(1, _THREE + 1)):
        state.three_reordered += 1


def count_resent(state: State, span: tuple[int, int], at: int, due_at: int, opened_at_index: int, *, new: bool) -> None:
    """Bytes that were sent again. `new`: seen for the first time here, and due at `due_at`; else first seen then."""
    start, end = span
    packets = state.packets_of(end - start)
    resent = state.resent.pop(start, None) or Resent(end, due_at, due_at, opened_at_index, packets)
    resent.end = max(resent.end, end)
    state.resent[start] = resent
    if len(state.resent) > MAX_RESENT:
        oldest = state.resent.pop(next(iter(state.resent)))
        if oldest.was_needed:
            state.longest_needed_wait = max(state.longest_needed_wait, oldest.wait_ns)
    state.resent_segments += 1
    state.resent_packets += packets
    state.resent_bytes += end - start
    state.upstream += new
    _by_what(state, start, at, resent)
    resent.count += 1
    resent.last_at = at
    state.needless_timeouts -= resent.vain_timeouts  # unless this one is in vain, too
    resent.vain_timeouts = 0
    state.longest_chain = max(state.longest_chain, resent.count)
    state.longest_wait = max(state.longest_wait, resent.wait_ns)
    peer = state.peer
    if peer.ack >= 0 and end <= (state.next_offset or 0) + ahead(peer.ack, state.next_seq):
        was_needless(state, resent)
    if state.sack_holes:
        sent_again(state, start, end)


def _by_what(state: State, start: int, at: int, resent: Resent) -> None:
    """What made the sender send again: duplicate acks and SACK gaps, its clock, or something else."""
    waited = at - resent.last_at
    missing = (state.next_offset or 0) + ahead(state.peer.ack, state.next_seq)
    reported = state.peer.acks_same >= _DUPLICATE_ACKS and missing == start
    reported = reported or (state.peer.sacking_at == state.peer.ack and missing <= start)
    round_trip = state.syn_rtt + state.peer.syn_rtt
    if reported and not resent.count and waited < max(_MIN_TIMEOUT_NS, 2 * round_trip):
        state.fast += 1
    elif waited >= _MIN_TIMEOUT_NS:
        state.timeout += 1
        resent.timeouts += 1
        state.waited += max(at - max(resent.last_at, state.waited_until), 0)
        state.waited_until = max(state.waited_until, at)
    elif reported:
        state.fast += 1
    else:
        state.early += 1
