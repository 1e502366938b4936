"""JSD511: publishes that JetStream refused for another reason than an expected sequence."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.publishes import RefusedBy, no_publishes, readable_publishers, refusals_but, total
from jsdoctor.checks.packets.views import moment, observed, percent
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share

_OF_SEQUENCES = (10070, 10071, 10164)
"""Expected sequence or id: JSD201 and JSD202."""


@check("packet_reordering.publishes_refused")
def publishes_refused(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Group by stream, or by connection if the reply names no stream."""
    by_subject = refusals_but(packets, *_OF_SEQUENCES)
    for subject, refusals in by_subject.items():
        yield _finding(subject, refusals, params)
    if not by_subject:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _finding(subject: Subject, refusals: list[RefusedBy], params: Params) -> Finding:
    views = {refusal.view.subject: refusal.view for refusal in refusals}
    share = Share(total(refusals), sum(view.nats.publishing.acks for view in views.values()))
    often = share.reaches(params.number("warn"), params.integer("enough"))
    by_reason: dict[tuple[int, str], int] = {}
    for refusal in refusals:
        key = (refusal.refusal.err_code, refusal.refusal.description)
        by_reason[key] = by_reason.get(key, 0) + refusal.refusal.count
    reasons = sorted(by_reason.items(), key=lambda entry: (-entry[1], entry[0]))
    stated = ", ".join(f"{count:,} with '{text}' ({code})" for (code, text), count in reasons[:4])
    return failed(
        subject,
        f"JetStream refused {share.events:,} of {share.of:,} publishes ({percent(share.ratio)}): {stated}; these"
        f" messages are not stored",
        *(
            observation
            for refusal in refusals[:8]
            for observation in observed(
                refusal.view,
                **{
                    f"error {refusal.refusal.err_code}": refusal.refusal.count,
                    "subject": refusal.refusal.subject,
                    "text": refusal.refusal.description,
                },
            )
        ),
        severity=None if often else Severity.INFO,
        measured=(share.ratio, params.number("warn"), "ratio"),
        between=(
            moment(min(refusal.refusal.first_ns for refusal in refusals)),
            moment(max(refusal.refusal.last_ns for refusal in refusals)),
        ),
    )
