"""What was sent again though its receiver had it: by DSACKs (RFC 2883), by acks, by originals that came late."""

from __future__ import annotations

from jsdoctor.parse.packets.tcp.numbers import ahead
from jsdoctor.parse.packets.tcp.state import Resent, State


def was_needless(state: State, resent: Resent) -> None:
    """One more sending of these bytes was in vain; never more of them than there were."""
    if resent.needless < resent.count:
        resent.needless += 1
        state.needless += 1
        state.needless_packets += resent.packets
        if not resent.was_needed:
            state.needless_timeouts += resent.timeouts
            resent.vain_timeouts = resent.timeouts


def received_twice(state: State, left: int, right: int) -> None:
    """The receiver says in a DSACK that it got the bytes between these sequence numbers once more."""
    last = state.next_offset or 0
    start, end = last + ahead(left, state.next_seq), last + ahead(right, state.next_seq)
    known = state.resent.get(start)
    if known is not None and known.end >= end:
        was_needless(state, known)
        return
    for begins, resent in state.resent.items():
        if begins < end and resent.end > start:
            was_needless(state, resent)
