"""JSD509: packets above a size never arrive: a path-MTU black hole."""

from __future__ import annotations

from jsdoctor.checks.packets.views import DirectionView, View, connection_check, observed, period, why_network_unjudged
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params


@connection_check("packet_reordering.path_mtu", severity=Severity.ERROR)
def path_mtu(view: View, params: Params) -> Finding | None:
    """Judge each connection by its worse direction."""
    if why_network_unjudged(view) or view.tcp.one_sided:
        return None
    stuck = [direction for direction in view.directions if _is_stuck(direction, params)]
    if not stuck:
        return passed(view.subject)
    direction = max(stuck, key=lambda direction: direction.flow.stuck_times)
    flow = direction.flow
    return failed(
        view.subject,
        f"from {direction.sender} to {direction.receiver} packets of {flow.stuck_length:,} bytes of data or more"
        f" were sent again up to {flow.stuck_times:,} times and never acknowledged, while those of up to"
        f" {flow.delivered_length:,} bytes arrived: the path drops what is larger, and the sender does not learn it",
        *observed(
            view,
            shortest_stuck_bytes=flow.stuck_length,
            sent_again=flow.stuck_times,
            longest_delivered_bytes=flow.delivered_length,
        ),
        measured=(flow.stuck_times, params.integer("times"), "count"),
        between=period(view.tcp),
    )


def _is_stuck(direction: DirectionView, params: Params) -> bool:
    flow = direction.flow
    return (
        flow.stuck_times >= params.integer("times")
        and flow.stuck_length >= params.integer("length")
        and 0 < flow.delivered_length < flow.stuck_length
    )
