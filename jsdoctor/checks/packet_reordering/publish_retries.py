"""JSD504: messages published again under the same Nats-Msg-Id."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packet_reordering.causes import network_faults
from jsdoctor.checks.packets.views import View, moment, most_severe_of_each, observed, percent
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.nats_traffic import Publishing
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share
from jsdoctor.model.wording import counted, span


@check("packet_reordering.publish_retries")
def publish_retries(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each connection that publishes with ids: without ids, retries and new messages look the same."""

    def judge(view: View) -> Finding | None:
        publishing = view.nats.publishing
        if not publishing.identified:
            return None
        return _finding(view, publishing, params) if publishing.retries else passed(view.subject)

    yield from most_severe_of_each(packets, judge, Severity.WARNING)


def _finding(view: View, publishing: Publishing, params: Params) -> Finding:
    share = Share(publishing.retries, publishing.identified)
    often = share.reaches(params.number("warn"), params.integer("enough"))
    usual_ns = publishing.retry_ns.quantile_ns(0.5)
    first = next(iter(publishing.retry_examples), None)
    return failed(
        view.subject,
        f"{publishing.retries:,} of {counted(publishing.identified, 'message')} with a Nats-Msg-Id"
        f" ({percent(share.ratio)}) {'was' if publishing.retries == 1 else 'were'} published again, usually after"
        f" {span(usual_ns)}{view.who}{_cause(view, publishing)}",
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


def _cause(view: View, publishing: Publishing) -> str:
    """What came between the first copy and the second, and what the server made of it."""
    parts = []
    if publishing.retries_answered == publishing.retries:
        parts.append(
            "the first copy had been acknowledged here before: the acknowledgement was lost later, or the id is reused"
        )
    elif publishing.retries_answered:
        parts.append(f"of {publishing.retries_answered:,} the first copy had been acknowledged here before")
    if publishing.retries_elsewhere:
        parts.append(f"{publishing.retries_elsewhere:,} came over another connection, after a reconnect")
    parts.append(network_faults(view))
    if publishing.duplicates:
        parts.append(f"the server acknowledged {publishing.duplicates:,} as duplicates, so they are stored once")
    return "".join(f"; {part}" for part in parts if part)
