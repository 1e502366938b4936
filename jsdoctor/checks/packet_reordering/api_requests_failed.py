"""JSD517: requests to the JetStream API that fail."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, observed, period
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.nats_traffic import ApiFailure
from jsdoctor.model.params import Params

_NOT_FOUND = (10014, 10037, 10059)
"""Client libraries look for a consumer, a message or a stream before they create it: a few of these are ordinary."""


@connection_check("packet_reordering.api_requests_failed")
def api_requests_failed(view: View, params: Params) -> Finding | None:
    """By connection that asks the API."""
    api = view.nats.api
    if not api.requests:
        return None
    if not api.failures:
        return passed(view.subject)
    count = sum(failure.count for failure in api.failures)
    missing = max((failure.count for failure in api.failures if failure.err_code in _NOT_FOUND), default=0)
    others = sum(failure.count for failure in api.failures if failure.err_code not in _NOT_FOUND)
    loud = others >= params.integer("errors") or missing >= params.integer("not_found")
    return failed(
        view.subject,
        f"{count:,} of {api.requests:,} requests to the JetStream API failed:"
        f" {'; '.join(map(_said, api.failures[:4]))}{view.who}",
        *observed(
            view,
            **{f"{failure.operation} {failure.err_code or failure.code}": failure.count for failure in api.failures},
        ),
        severity=None if loud else Severity.INFO,
        measured=(count, params.integer("errors") if others else params.integer("not_found"), "count"),
        between=period(*api.failures),
    )


def _said(failure: ApiFailure) -> str:
    code = failure.err_code or failure.code
    return f"{failure.operation} {failure.count:,} times with '{failure.description}' ({code}), first {failure.subject}"
