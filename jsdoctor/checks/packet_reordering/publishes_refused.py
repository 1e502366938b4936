"""JSD511: publishes that JetStream refused for another reason than an expected sequence."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.traffic import no_publishes, readable_publishers, refused, total
from jsdoctor.checks.packets.views import observed, percent, period
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share

_SEQUENCE_CODES = (10070, 10071, 10164)
"""Codes of a wrong expected sequence or id, which JSD201 and JSD202 judge."""
_REASONS_SHOWN = 4
_EVIDENCE_SHOWN = 8


@check("packet_reordering.publishes_refused")
def publishes_refused(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Group by stream, or by connection if the reply names no stream."""
    by_subject = refused(packets, lambda code: code not in _SEQUENCE_CODES)
    for subject, refusals in by_subject.items():
        views = {refusal.view.subject: refusal.view for refusal in refusals}
        share = Share(total(refusals), sum(view.nats.publishing.acks for view in views.values()))
        often = share.reaches(params.number("warn"), params.integer("enough"))
        by_reason: dict[tuple[int, str], int] = {}
        for refusal in refusals:
            key = (refusal.refusal.err_code, refusal.refusal.description)
            by_reason[key] = by_reason.get(key, 0) + refusal.refusal.count
        reasons = sorted(by_reason.items(), key=lambda entry: (-entry[1], entry[0]))
        stated = ", ".join(f"{count:,} with '{text}' ({code})" for (code, text), count in reasons[:_REASONS_SHOWN])
        yield failed(
            subject,
            f"JetStream refused {share.events:,} of {share.of:,} publishes ({percent(share.ratio)}): {stated}; these"
            f" messages are not stored",
            *(
                observation
                for refusal in refusals[:_EVIDENCE_SHOWN]
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
            between=period(*(refusal.refusal for refusal in refusals)),
        )
    if not by_subject:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)
