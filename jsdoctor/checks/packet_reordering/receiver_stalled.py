"""JSD503: a reader with a closed TCP window: the reader is slow, not the network."""

from __future__ import annotations

from jsdoctor.checks.packets.views import DirectionView, View, connection_check, observed, period
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span


@connection_check("packet_reordering.receiver_stalled")
def receiver_stalled(view: View, params: Params) -> Finding | None:
    """By connection. The side that announces a window of zero is the one that does not read."""
    slow = [direction for direction in view.directions if direction.flow.zero_windows]
    if not slow:
        return passed(view.subject)
    direction = max(slow, key=lambda direction: direction.flow.zero_window_ns)
    flow, warn_ns = direction.flow, params.integer("warn")
    cut_off = flow.longest_zero_window_ns >= params.integer("write_deadline")
    severity = Severity.CRITICAL if cut_off else None if flow.zero_window_ns >= warn_ns else Severity.INFO
    return failed(
        view.subject,
        f"{direction.sender} did not read for {span(flow.zero_window_ns)} in all, at most"
        f" {span(flow.longest_zero_window_ns)} at a time: {counted(flow.zero_windows, 'window')} of zero bytes"
        f" stopped {direction.receiver}{_consequence(direction, severity)}",
        *observed(
            view,
            zero_windows=flow.zero_windows,
            zero_window_ns=flow.zero_window_ns,
            longest_zero_window_ns=flow.longest_zero_window_ns,
            closed=view.tcp.closed or "still open",
        ),
        severity=severity,
        measured=(flow.zero_window_ns, warn_ns, "duration"),
        between=period(view.tcp),
    )


def _consequence(direction: DirectionView, severity: Severity | None) -> str:
    """The end of the message: what follows for the connection, or that the network is not to blame."""
    if direction.sender != "the client":
        return "; the network is not the cause"
    if severity is Severity.CRITICAL:
        return "; after its write_deadline the server closes such a connection as a slow consumer, without an error"
    return f"; {direction.sender} is slow, not the network"
