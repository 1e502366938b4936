"""The figures that are reported of a direction, from its state."""

from __future__ import annotations

from jsdoctor.model.packets import Flow, OrderProof, Reordering, Retransmission
from jsdoctor.packets.segment import ahead
from jsdoctor.packets.tcp.acks import give_up
from jsdoctor.packets.tcp.state import State

_MIN_COPIES = 3
"""Minimum number of retransmissions after which the size of a packet may be the reason."""


def settle(state: State, at: int) -> None:
    """End this direction at the end of the capture: holes stay unfilled, and a zero window lasts until `at`."""
    for hole in state.holes:
        give_up(state, hole)
    state.holes = []
    if state.zero_since:
        lasted = max(at - state.zero_since, 0)
        state.zero_window_ns += lasted
        state.longest_zero_window = max(state.longest_zero_window, lasted)
        state.zero_since = 0
        state.zero_until = at


def flow(state: State, measured_reordering: Reordering | None = None) -> Flow:
    """All figures of one direction. `measured_reordering`: of the place where it was measured, if there are several."""
    stuck_length, stuck_times, delivered_length = _stuck(state)
    return Flow(
        packets=state.packets,
        segments=state.segments,
        bytes=state.bytes,
        distinct_segments=state.distinct,
        distinct_packets=state.distinct + state.joined,
        damaged=state.damaged,
        stuck_length=stuck_length,
        stuck_times=stuck_times,
        delivered_length=delivered_length,
        distinct_bytes=state.distinct_bytes,
        proof=_proof(state),
        reordering=measured_reordering or reordering(state),
        retransmission=_retransmission(state),
        duplicates=state.duplicates,
        duplicates_of_other_hop=state.duplicates_of_other_hop,
        duplicate_acks=state.duplicate_acks,
        sacks=state.sacks,
        dsacks=state.dsacks,
        missed_bytes=state.missed,
        unfilled_bytes=state.unfilled,
        zero_windows=state.zero_windows,
        zero_window_ns=state.zero_window_ns,
        longest_zero_window_ns=state.longest_zero_window,
        into_zero_window=state.into_zero_window,
        keep_alives=state.keep_alives,
        zero_until_ns=state.zero_until,
        resets=state.resets,
        ended_ns=state.ended_at,
        cut_ns=state.cut_at,
        cut_hops=state.cut_hops,
        congestion_marks=state.congestion_marks,
        oversized=state.oversized,
        ack_rtt_ns=state.ack_rtt.quantiles(),
        events=tuple(state.events),
    )


def _stuck(state: State) -> tuple[int, int, int]:
    """The shortest packet that was sent again and again in vain, how often, and the longest one that came through."""
    if state.peer.ack < 0 or state.next_offset is None:
        return 0, 0, 0
    position = state.next_offset + ahead(state.peer.ack, state.next_seq)
    stuck = [(start, item) for start, item in state.resent.items() if item.end > position and item.count >= _MIN_COPIES]
    if not stuck:
        return 0, 0, 0
    length = min(min(item.end - start, state.full) for start, item in stuck)
    through = ((start, end) for start, end, *_ in state.ring if end <= position and start not in state.resent)
    delivered = [min(end - start, state.full) for start, end in through]
    return length, max(item.count for _, item in stuck), max(delivered, default=0)


def _proof(state: State) -> OrderProof:
    if state.ip_id >= 0 and state.ids_tell:
        return OrderProof.IP_ID
    if state.ring and state.ring[-1][3] >= 0:
        return OrderProof.TIMESTAMPS
    return OrderProof.TIME


def reordering(state: State, *, packets: int = 0, place: str = "", in_order_at: str = "") -> Reordering:
    """What came late in one direction; the rest is about the place, where there are several."""
    return Reordering(
        segments=state.reordered,
        needless_retransmissions=state.reordered_needless,
        three_reordered=state.three_reordered,
        behind_ack=state.behind_ack,
        extent=state.extent.quantiles(),
        late_ns=state.late_ns.quantiles(),
        free_run=state.free_run.quantiles(),
        downstream=state.downstream,
        packets=packets,
        place=place,
        in_order_at=in_order_at,
    )


def _longest_wait_ns(state: State) -> int:
    waits = (resent.wait_ns for resent in state.resent.values() if resent.was_needed)
    return max(state.longest_needed_wait, *waits, 0) or state.longest_wait


def _retransmission(state: State) -> Retransmission:
    return Retransmission(
        segments=state.resent_segments,
        packets=state.resent_packets,
        bytes=state.resent_bytes,
        upstream=state.upstream,
        downstream=state.resent_segments - state.upstream,
        fast=state.fast,
        timeout=state.timeout,
        early=state.early,
        needless=state.needless,
        needless_packets=state.needless_packets,
        longest_chain=state.longest_chain,
        needless_timeouts=state.needless_timeouts,
        longest_wait_ns=_longest_wait_ns(state),
        waited_ns=state.waited,
        syn=state.syn_again,
        fin=state.fin_again,
    )
