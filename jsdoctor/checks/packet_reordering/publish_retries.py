"""JSD504: messages published again under the same Nats-Msg-Id."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packet_reordering.losses import network_faults
from jsdoctor.checks.packets.views import View, connection_check, moment, observed, percent
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.nats_traffic import Publishing
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share
from jsdoctor.model.wording import counted, span


@connection_check("packet_reordering.publish_retries")
def publish_retries(view: View, params: Params) -> Finding | None:
    """Judge each connection that publishes with ids: without ids, retries and new messages look the same."""
    publishing = view.nats.publishing
    if not publishing.identified:
        return None
    if not publishing.retries:
        return passed(view.subject)
    share = Share(publishing.retries, publishing.identified)
    often = share.reaches(params.number("warn"), params.integer("enough"))
    usual_ns = publishing.retry_ns.quantile_ns(0.5)
    first = next(iter(publishing.retry_examples), None)
    return failed(
        view.subject,
        f"{publishing.retries:,} of {counted(publishing.identified, 'message')} with a Nats-Msg-Id"
        f" ({percent(share.ratio)}) {'was' if publishing.retries == 1 else 'were'} published again, usually after"
        f" {span(usual_ns)}{view.who}" + "".join(f"; {cause}" for cause in _causes(view, publishing) if cause),
        *observed(
            view,
            retries=publishing.retries,
            retries_after_an_answer=publishing.retries_answered,
            answered_as_duplicate=publishing.duplicates,
            first_retry=f"{first.subject}, {span(first.again_ns - first.first_ns)} after the first copy"
            if first
            else "not kept",
        ),
        severity=None if often else Severity.INFO,
        measured=(share.ratio, params.number("warn"), "ratio"),
        between=(moment(first.again_ns if first else view.tcp.first_ns), moment(view.tcp.last_ns)),
    )


def _causes(view: View, publishing: Publishing) -> Iterator[str]:
    """Why messages were published again, and whether the server took them for duplicates."""
    if publishing.retries_answered == publishing.retries:
        before = "the first copy had been acknowledged here before"
        yield f"{before}: the acknowledgement was lost later, or the id is reused"
    elif publishing.retries_answered:
        yield f"of {publishing.retries_answered:,} the first copy had been acknowledged here before"
    if publishing.retries_elsewhere:
        yield f"{publishing.retries_elsewhere:,} came over another connection, after a reconnect"
    yield network_faults(view)
    if publishing.duplicates:
        yield f"the server acknowledged {publishing.duplicates:,} as duplicates, so they are stored once"
