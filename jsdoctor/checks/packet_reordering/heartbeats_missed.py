"""JSD518: an idle consumer whose heartbeats stop."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, observed, period
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_MIN_HEARTBEATS = 3
"""Fewer heartbeats do not show their interval."""


@connection_check("packet_reordering.heartbeats_missed")
def heartbeats_missed(view: View, params: Params) -> Finding | None:
    """Judge each connection with heartbeats."""
    beats = view.nats.heartbeats
    if beats.count < _MIN_HEARTBEATS or not beats.interval_ns:
        return None
    if not view.nats.gapless:
        return unknown(
            view.subject,
            "lines of NATS are missing, so heartbeats may be missing in the capture alone",
            "capture whole packets with a large buffer",
        )
    if beats.silence_ns < params.number("intervals") * beats.interval_ns:
        return passed(view.subject)
    beats = view.nats.heartbeats
    missed = beats.silence_ns // beats.interval_ns
    return failed(
        view.subject,
        f"a consumer that sends a heartbeat every {span(beats.interval_ns)} was silent for"
        f" {span(beats.silence_ns)}: about {missed:,} heartbeats did not come, and clients take their"
        f" subscription for broken after two{view.who}",
        *observed(view, heartbeats=beats.count, interval_ns=beats.interval_ns, longest_silence_ns=beats.silence_ns),
        measured=(beats.silence_ns / beats.interval_ns, params.number("intervals"), "ratio"),
        between=period(view.tcp),
    )
