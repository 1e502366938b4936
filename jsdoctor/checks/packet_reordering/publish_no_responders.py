"""JSD512: publishes and requests without a responder: the reply has status 503."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import View, moment, most_severe_of_each, observed, percent
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share


@check("packet_reordering.publish_no_responders")
def publish_no_responders(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each connection with requests."""

    def judge(view: View) -> Finding | None:
        publishing = view.nats.publishing
        if not publishing.requests:
            return None
        return _finding(view, params) if publishing.no_responders else passed(view.subject)

    yield from most_severe_of_each(packets, judge, Severity.WARNING)


def _finding(view: View, params: Params) -> Finding:
    publishing = view.nats.publishing
    share = Share(publishing.no_responders, publishing.requests)
    often = share.reaches(params.number("warn"), params.integer("enough"))
    subjects = ", ".join(publishing.no_responder_subjects)
    return failed(
        view.subject,
        f"{share.events:,} of {share.of:,} messages that request a reply ({percent(share.ratio)}) got the status"
        f" 503 'no responders': neither a stream nor a service takes {subjects}{view.who}",
        *observed(view, no_responders=share.events, requests=share.of, subjects=subjects),
        severity=None if often else Severity.INFO,
        measured=(share.ratio, params.number("warn"), "ratio"),
        between=(moment(view.tcp.first_ns), moment(view.tcp.last_ns)),
    )
