"""Why publishes were slow or repeated, as far as the capture of their connection shows it."""

from __future__ import annotations

from jsdoctor.checks.packet_reordering.losses import losses
from jsdoctor.checks.packets.views import View, proves_no_loss, why_not
from jsdoctor.model.latency import Latencies
from jsdoctor.model.wording import counted, span


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
