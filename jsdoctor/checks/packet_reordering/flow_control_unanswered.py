"""JSD519: deliveries that wait because the client does not respond to flow control."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, observed, period
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@connection_check("packet_reordering.flow_control_unanswered")
def flow_control_unanswered(view: View, params: Params) -> Finding | None:
    """Judge each connection with flow control. Open requests count only if no lines are missing in the capture."""
    flow = view.nats.flow_control
    if not flow.requests:
        return None
    waited_ns = max(flow.longest_ns, flow.waiting_ns) if view.nats.gapless else flow.longest_ns
    if waited_ns < params.integer("warn"):
        return passed(view.subject)
    never = f", {flow.open:,} never" if flow.open else ""
    stalled = f"; {flow.stalled:,} heartbeats reported that deliveries wait for the response" if flow.stalled else ""
    return failed(
        view.subject,
        f"the client responded to {flow.answered:,} of {flow.requests:,} flow control requests{never}; one"
        f" waited for {span(waited_ns)}, and until the response nothing more is delivered{stalled}{view.who}",
        *observed(
            view, requests=flow.requests, answered=flow.answered, stalled_heartbeats=flow.stalled, waited_ns=waited_ns
        ),
        measured=(waited_ns, params.integer("warn"), "duration"),
        between=period(view.tcp),
    )
