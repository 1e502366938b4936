"""JSD518: an idle consumer whose heartbeats stop."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import View, moment, most_severe_of_each, observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_MIN = 3
"""From fewer heartbeats their interval does not follow."""


@check("packet_reordering.heartbeats_missed")
def heartbeats_missed(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By connection with heartbeats."""

    def judge(view: View) -> Finding | None:
        beats = view.nats.heartbeats
        if beats.count < _MIN or not beats.interval_ns:
            return None
        if not view.nats.gapless:
            return unknown(
                view.subject,
                "lines of NATS are missing, so heartbeats may be missing in the capture alone",
                "capture whole packets with a large buffer",
            )
        if beats.silence_ns < params.number("intervals") * beats.interval_ns:
            return passed(view.subject)
        return _finding(view, params)

    yield from most_severe_of_each(packets, judge, Severity.WARNING)


def _finding(view: View, params: Params) -> Finding:
    beats = view.nats.heartbeats
    missed = beats.silence_ns // beats.interval_ns
    return failed(
        view.subject,
        f"a consumer that sends a heartbeat every {span(beats.interval_ns)} was silent for"
        f" {span(beats.silence_ns)}: about {missed:,} heartbeats did not come, and clients take their"
        f" subscription for broken after two{view.who}",
        *observed(view, heartbeats=beats.count, interval_ns=beats.interval_ns, longest_silence_ns=beats.silence_ns),
        measured=(beats.silence_ns / beats.interval_ns, params.number("intervals"), "ratio"),
        between=(moment(view.tcp.first_ns), moment(view.tcp.last_ns)),
    )
