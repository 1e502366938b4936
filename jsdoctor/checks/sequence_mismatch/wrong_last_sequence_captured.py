"""JSD201, from packets: publishes refused for what they expected of the stream, and why."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packet_reordering.causes import network_trouble
from jsdoctor.checks.packets.publishes import RefusedBy, no_publishes, readable_publishers, refused, total
from jsdoctor.checks.packets.views import moment
from jsdoctor.checks.packets.words import observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_WRONG_SEQUENCE, _IN_FLIGHT, _WRONG_ID = 10071, 10164, 10070
_TEN_MINUTES_NS = 600_000_000_000


@check("sequence_mismatch.wrong_last_sequence_captured")
def wrong_last_sequence_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By stream. What was expected beyond the last sequence is JSD202's."""
    told = refused(packets, _WRONG_SEQUENCE, _IN_FLIGHT, _WRONG_ID)
    told = {subject: [one for one in found if not _all_ahead(one)] for subject, found in told.items()}
    told = {subject: found for subject, found in told.items() if found}
    for subject, found in told.items():
        yield _finding(subject, found, params)
    if not told:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _all_ahead(one: RefusedBy) -> bool:
    return one.refusal.ahead == one.refusal.count


def _finding(subject: Subject, found: list[RefusedBy], params: Params) -> Finding:
    count = sum(one.refusal.count - one.refusal.ahead for one in found)
    stored = sum(one.refusal.after_stored for one in found)
    again = max(one.refusal.repeats for one in found)
    refusals = [one.refusal for one in found]
    by_id = any(refusal.err_code == _WRONG_ID for refusal in refusals)
    severity: Severity | None = None
    if stored:
        view = max(found, key=lambda one: one.refusal.after_stored).view
        cause = (
            f"{stored:,} of these {'repeats' if stored == 1 else 'repeat'} a message that had been stored, or was not"
            f" answered yet, so it is there already; {network_trouble(view)}".rstrip("; ")
        )
    elif by_id:
        cause = "the id of the last message was not the expected one; JSD713 tells what that can do"
    elif again >= params.integer("repeats"):
        cause = f"one expectation was refused {again:,} times: it tries again without reading where the stream is"
    elif _often(found) >= params.integer("burst"):
        cause = "writers contend for the same sequence"
    else:
        severity, cause = Severity.INFO, "two writers at once, which is ordinary where they read again and try again"
    return Finding(
        subject=subject,
        severity=severity,
        message=f"{_publishes(count)} refused for an expected sequence or id ({refusals[0].description}): {cause}",
        measured=count,
        threshold=params.integer("repeats"),
        unit="count",
        evidence=tuple(value for one in found for value in observed(one.view, **_figures(one))),
        first_seen=moment(min(refusal.first_ns for refusal in refusals)),
        last_seen=moment(max(refusal.last_ns for refusal in refusals)),
        remedy={"action": "stream.inspect"} if subject.kind == "stream" else {},
    )


def _publishes(count: int) -> str:
    return "1 publish was" if count == 1 else f"{count:,} publishes were"


def _often(found: list[RefusedBy]) -> float:
    """How many in ten minutes; all of them where the capture is shorter."""
    first = min(one.refusal.first_ns for one in found)
    last = max(one.refusal.last_ns for one in found)
    return total(found) * min(1.0, _TEN_MINUTES_NS / max(last - first, 1))


def _figures(one: RefusedBy) -> dict[str, object]:
    refusal = one.refusal
    return {
        "refused": refusal.count - refusal.ahead,
        "error": f"{refusal.err_code} {refusal.description}",
        "subject": refusal.subject,
        "expected": refusal.expected,
        "actual": refusal.actual,
        "after_it_was_stored": refusal.after_stored,
    }
