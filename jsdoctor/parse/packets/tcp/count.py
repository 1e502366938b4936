"""The figures of reordering (RFC 4737) and of sending again."""

from __future__ import annotations

from jsdoctor.parse.packets.tcp.needless import was_needless
from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.sack import sent_again
from jsdoctor.parse.packets.tcp.state import MAX_RESENT, MILLISECOND, Resent, State

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
