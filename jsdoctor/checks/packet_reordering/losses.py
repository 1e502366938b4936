"""Packets that one direction of a connection lost: exactly if two captures show it, else by retransmissions.

Also why publishes were slow or repeated, as far as the capture of their connection shows it.
"""

from __future__ import annotations

from typing import NamedTuple

from jsdoctor.checks.packets.views import DirectionView, View, percent, proves_no_loss, why_network_unjudged
from jsdoctor.model.latency import Latencies
from jsdoctor.model.packets import PathDelay, Retransmission
from jsdoctor.model.share import Share
from jsdoctor.model.wording import counted, span


class LossFigures(NamedTuple):
    """The share of lost packets, the longest wait for a retransmission, and both in words.

    `exact`: two captures were compared. `doubtful`: at least half of what was retransmitted had arrived already, so
    late packets explain the rest as well as loss.
    """

    share: Share
    stall_ns: int
    words: str
    exact: bool = False
    doubtful: bool = False


_LATE = ", and {count:,} more that had arrived already: late packets make senders resend, so this is an upper bound"

_OUTSIDE = ", of which {:,} were lost between the two captures: the others before or behind both, or their acks"
_MAX_RATIO = 2
"""Two captures explain retransmissions if these are at most this many times the packets lost between them."""


def losses(direction: DirectionView) -> LossFigures | None:
    """The losses of a direction, or None. A retransmission of what the receiver already had is no loss."""
    flow, resent = direction.flow, direction.flow.retransmission
    stall_ns = resent.longest_wait_ns if resent.timeout > resent.needless_timeouts and not _all_arrived(resent) else 0
    lost = Share(max(0, resent.packets - resent.needless_packets), flow.distinct_packets)
    path = direction.path if direction.path is not None and direction.path.sent else None
    if path is not None and path.lost * _MAX_RATIO >= lost.events:
        between = Share(path.lost, path.sent)
        return LossFigures(between, stall_ns, _exact_text(path, resent), exact=True) if between.events else None
    if not lost.events and not resent.timeout and not resent.syn:
        return None
    doubtful = resent.needless_packets * 2 >= resent.packets > 0
    if path is not None:
        where = _OUTSIDE.format(path.lost)
    elif doubtful:
        where = _LATE.format(count=resent.needless)
    else:
        where = _place_text(direction, lost)
    return LossFigures(
        lost, stall_ns, f"{_retransmission_text(lost, resent)}{where}{_timeout_text(resent)}", doubtful=doubtful
    )


def _all_arrived(resent: Retransmission) -> bool:
    """Whether the receiver already had all that was retransmitted, so that no data waited for it."""
    return not resent.syn and resent.needless >= resent.segments > 0


def _exact_text(path: PathDelay, resent: Retransmission) -> str:
    share = Share(path.lost, path.sent)
    return (
        f"{path.lost:,} of {counted(path.sent, 'packet')} ({percent(share.ratio)}) were sent and never arrived, as two"
        f" captures show{_timeout_text(resent)}"
    )


def _retransmission_text(lost: Share, resent: Retransmission) -> str:
    if lost.events:
        what = "segment was" if lost.events == 1 else "segments were"
        return f"{lost.events:,} of {lost.of:,} {what} sent again ({percent(lost.ratio)})"
    if resent.segments:
        return f"{counted(resent.segments, 'segment')} sent again had arrived already: their acks were late or lost"
    return "opening the connection had to be tried again"


def _place_text(direction: DirectionView, lost: Share) -> str:
    """On which side of the capture point packets were lost, in words."""
    resent = direction.flow.retransmission
    if not lost.events:
        return ""
    if lost.events <= resent.upstream:
        return f", lost between {direction.sender} and the capture point"
    if not resent.upstream:
        return f", lost between the capture point and {direction.receiver}, or their acks on the way back"
    return f", {resent.upstream:,} of them lost before the capture point"


def _timeout_text(resent: Retransmission) -> str:
    if not resent.timeout:
        return ""
    if _all_arrived(resent):
        return f"; {resent.timeout:,} after a timeout, the longest after {span(resent.longest_wait_ns)}"
    stalls = resent.timeout - resent.needless_timeouts
    if not stalls:
        return f"; {resent.timeout:,} after a timeout, though the receiver had it"
    return (
        f"; {stalls:,} only after a timeout, the longest after {span(resent.longest_wait_ns)}: until then"
        " everything behind waits"
    )


def network_faults(view: View) -> str:
    """The faults that TCP shows on this connection, or that it shows none; empty if the capture lost too much."""
    if why_network_unjudged(view) or any(proves_no_loss(view, flow) for flow in view.tcp.flows):
        return ""
    causes = []
    lost = sum(loss.share.events for direction in view.directions if (loss := losses(direction)))
    timeouts = sum(flow.retransmission.timeout for flow in view.tcp.flows)
    if lost:
        causes.append(f"{counted(lost, 'segment')} lost")
    if timeouts:
        causes.append(f"{counted(timeouts, 'wait')} of 200ms or more for what was sent again")
    late = sum(flow.reordering.segments for flow in view.tcp.flows)
    if late:
        causes.append(f"{counted(late, 'segment')} reordered")
    if zero_ns := sum(flow.zero_window_ns for flow in view.tcp.flows):
        causes.append(f"a reader that stalled for {span(zero_ns)}")
    if causes:
        return f"on this connection: {', '.join(causes)}"
    return "the network is not the cause: nothing was lost, late or held back on this connection"


def latency_text(view: View, answers: Latencies) -> str:
    """How much of the usual latency lies between the capture point and the server, and how much in the server."""
    round_trip = view.directions[0].flow.ack_rtt_ns
    if not answers.count:
        return ""
    usual_ns = answers.quantile_ns(0.5)
    if view.pair is not None and view.pair.least_round_trip_ns is not None:
        between = span(view.pair.least_round_trip_ns)
        return f"half of them came within {span(usual_ns)}; the network between the two captures takes {between}"
    if not round_trip.count:
        return ""
    return (
        f"half of them came within {span(usual_ns)}, of which the way from the capture point to the server and back"
        f" takes at most {span(min(round_trip.p50, usual_ns))}"
    )
