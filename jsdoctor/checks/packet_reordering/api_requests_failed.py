"""JSD517: requests to the JetStream API that fail."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import View, moment, most_severe_of_each, observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.nats_traffic import ApiFailure
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_NOT_FOUND = (10014, 10037, 10059)
"""Client libraries look for a consumer, a message or a stream before they create it: a few of these are ordinary."""


@check("packet_reordering.api_requests_failed")
def api_requests_failed(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By connection that asks the API."""

    def judge(view: View) -> Finding | None:
        api = view.nats.api
        if not api.requests:
            return None
        return _finding(view, params) if api.failures else passed(view.subject)

    yield from most_severe_of_each(packets, judge, Severity.WARNING)


def _finding(view: View, params: Params) -> Finding:
    api = view.nats.api
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
        between=(
            moment(min(failure.first_ns for failure in api.failures)),
            moment(max(failure.last_ns for failure in api.failures)),
        ),
    )


def _said(failure: ApiFailure) -> str:
    code = failure.err_code or failure.code
    return f"{failure.operation} {failure.count:,} times with '{failure.description}' ({code}), first {failure.subject}"
