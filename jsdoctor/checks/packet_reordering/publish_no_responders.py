"""JSD512: publishes and requests without a responder: the reply has status 503."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, observed, percent, period
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share


@connection_check("packet_reordering.publish_no_responders")
def publish_no_responders(view: View, params: Params) -> Finding | None:
    """Judge each connection with requests."""
    publishing = view.nats.publishing
    if not publishing.requests:
        return None
    if not publishing.no_responders:
        return passed(view.subject)
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
        between=period(view.tcp),
    )
