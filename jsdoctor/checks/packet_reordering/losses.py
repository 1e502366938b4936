"""What one direction of a connection lost: exactly, where two captures show it, else by what was sent again.

Also why publishes were slow or repeated, as far as the capture of their connection shows it.
"""

from __future__ import annotations

from typing import NamedTuple

from jsdoctor.checks.packets.views import DirectionView, View, percent, proves_no_loss, why_not
from jsdoctor.model.latency import Latencies
from jsdoctor.model.packets import PathDelay, Retransmission
from jsdoctor.model.share import Share
from jsdoctor.model.wording import counted, span


class LossFigures(NamedTuple):
    """How much, how long the longest resending took, in words. `exact`: two captures were compared.

    `doubtful`: most of what was sent again had arrived already, so that lateness explains the rest as well as loss.
    """

    share: Share
    stall_ns: int
    words: str
    exact: bool = False
    doubtful: bool = False


_LATE = ", and {count:,} more that had arrived already: late packets make senders resend, so this is an upper bound"

_OUTSIDE = ", of which {:,} were lost between the two captures: the others before or behind both, or their acks"
_MAX_OF = 2
"""Two captures explain what was sent again when they show at least this part of it as lost between them: half."""


def losses(direction: DirectionView) -> LossFigures | None:
    """None where nothing was lost. What the receiver had already, though it was sent again, is no loss."""
    flow, again = direction.flow, direction.flow.retransmission
    stall_ns = again.longest_wait_ns if again.timeout > again.needless_timeouts and not _all_arrived(again) else 0
    lost = Share(max(0, again.packets - again.needless_packets), flow.distinct_packets)
    path = direction.path if direction.path is not None and direction.path.sent else None
    if path is not None and path.lost * _MAX_OF >= lost.events:
        between = Share(path.lost, path.sent)
        return LossFigures(between, stall_ns, _exactly(path, again), exact=True) if between.events else None
    if not lost.events and not again.timeout and not again.syn:
        return None
    doubtful = again.needless_packets * 2 >= again.packets > 0
    if path is not None:
        where = _OUTSIDE.format(path.lost)
    elif doubtful:
        where = _LATE.format(count=again.needless)
    else:
        where = _where(direction, lost)
    return LossFigures(lost, stall_ns, f"{_sent_again(lost, again)}{where}{_stalls(again)}", doubtful=doubtful)


def _all_arrived(again: Retransmission) -> bool:
    """Whether the receiver had all of it already: then nothing waited for what was sent again."""
    return not again.syn and again.needless >= again.segments > 0


def _exactly(path: PathDelay, again: Retransmission) -> str:
    share = Share(path.lost, path.sent)
    return (
        f"{path.lost:,} of {counted(path.sent, 'packet')} ({percent(share.ratio)}) were sent and never arrived, as two"
        f" captures show{_stalls(again)}"
    )


def _sent_again(lost: Share, again: Retransmission) -> str:
    if lost.events:
        what = "segment was" if lost.events == 1 else "segments were"
        return f"{lost.events:,} of {lost.of:,} {what} sent again ({percent(lost.ratio)})"
    if again.segments:
        return f"{counted(again.segments, 'segment')} sent again had arrived already: their acks were late or lost"
    return "opening the connection had to be tried again"


def _where(direction: DirectionView, lost: Share) -> str:
    """On which side of the capture point."""
    again = direction.flow.retransmission
    if not lost.events:
        return ""
    if lost.events <= again.upstream:
        return f", lost between {direction.sender} and the capture point"
    if not again.upstream:
        return f", lost between the capture point and {direction.receiver}, or their acks on the way back"
    return f", {again.upstream:,} of them lost before the capture point"


def _stalls(again: Retransmission) -> str:
    if not again.timeout:
        return ""
    if _all_arrived(again):
        return f"; {again.timeout:,} after a timeout, the longest after {span(again.longest_wait_ns)}"
    stalls = again.timeout - again.needless_timeouts
    if not stalls:
        return f"; {again.timeout:,} after a timeout, though the receiver had it"
    return (
        f"; {stalls:,} only after a timeout, the longest after {span(again.longest_wait_ns)}: until then"
        " everything behind waits"
    )


def network_faults(view: View) -> str:
    """What TCP shows of this connection, or the sentence that clears the network; empty where nothing can be said."""
    if why_not(view) or any(proves_no_loss(view, flow) for flow in view.tcp.flows):
        return ""
    causes = []
    again = sum(loss.share.events for direction in view.directions if (loss := losses(direction)))
    timeouts = sum(flow.retransmission.timeout for flow in view.tcp.flows)
    if again:
        causes.append(f"{counted(again, 'segment')} lost")
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


def way_and_server(view: View, answers: Latencies) -> str:
    """How much of the usual latency lies between the capture point and the server, and how much in the server."""
    way = view.directions[0].flow.ack_rtt_ns
    if not answers.count:
        return ""
    usual_ns = answers.quantile_ns(0.5)
    if view.pair is not None and view.pair.least_round_trip_ns is not None:
        between = span(view.pair.least_round_trip_ns)
        return f"half of them came within {span(usual_ns)}; the network between the two captures takes {between}"
    if not way.count:
        return ""
    return (
        f"half of them came within {span(usual_ns)}, of which the way from the capture point to the server and back"
        f" takes at most {span(min(way.p50, usual_ns))}"
    )
