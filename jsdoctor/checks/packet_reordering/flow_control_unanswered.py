"""JSD519: deliveries that wait because the client does not respond to flow control."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import View, moment, most_severe_of_each, observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("packet_reordering.flow_control_unanswered")
def flow_control_unanswered(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By connection with flow control, where lines that are missing cannot be the reason."""

    def judge(view: View) -> Finding | None:
        flow = view.nats.flow_control
        if not flow.requests:
            return None
        waited_ns = max(flow.longest_ns, flow.waiting_ns) if view.nats.gapless else flow.longest_ns
        return _finding(view, waited_ns, params) if waited_ns >= params.integer("warn") else passed(view.subject)

    yield from most_severe_of_each(packets, judge, Severity.WARNING)


def _finding(view: View, waited_ns: int, params: Params) -> Finding:
    flow = view.nats.flow_control
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
        between=(moment(view.tcp.first_ns), moment(view.tcp.last_ns)),
    )
