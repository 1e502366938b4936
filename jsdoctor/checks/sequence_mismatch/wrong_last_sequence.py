"""JSD201: publishes refused for what they expected of the stream.

From packets: publishes refused for what they expected of the stream, and why.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.packet_reordering.losses import network_faults
from jsdoctor.checks.packets.traffic import RefusedBy, no_publishes, readable_publishers, refused, total
from jsdoctor.checks.packets.views import observed, period
from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.refusals import REFUSED, all_ahead, repeated
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted

_IN_FLIGHT, _BY_ID = "publish-wrong-last-sequence-in-flight", "publish-wrong-last-msg-id"
_TIMEOUTS = ("publish-timed-out", "publish-ack-late")
_BEFORE_US = 60_000_000


@check("sequence_mismatch.wrong_last_sequence_logged", lines_of="clients")
def wrong_last_sequence_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each application or, if servers trace, each stream, for the most severe refusal."""
    for burst in bursts(logs, *REFUSED, _IN_FLIGHT, _BY_ID, subjects=client_of, calm=False):
        if all(occurrence.signature in REFUSED and all_ahead(occurrence) for occurrence in burst.found):
            continue  # JSD202's
        yield _finding(burst, logs, params)


def _finding(burst: Burst, logs: LogEvidence, params: Params) -> Finding:
    numbered = [item for item in burst.found if item.signature in REFUSED and not all_ahead(item)]
    stuck = repeated(numbered, params.integer("repeats")) - {0}
    severity: Severity | None = Severity.INFO
    cause = "two writers at once, which is ordinary where they read again and try again"
    if any(occurrence.signature == _BY_ID for occurrence in burst.found):
        severity, cause = None, "the id of the last message was not the expected one; JSD713 explains what that can do"
    elif stuck:
        severity = None
        cause = f"the last sequence stayed {min(stuck):,}: it probably tries again without reading where the stream is"
    elif burst.most >= params.integer("burst"):
        severity, cause = None, f"{burst.most:,} within ten minutes: writers contend for the same sequence"
    return finding_of(
        burst,
        f"publishes refused for an expected sequence or id, {burst.story}: {cause}{_timeouts_before(burst, logs)}",
        severity,
        measured=(burst.count, params.integer("repeats"), "count"),
        remedy={"action": "stream.inspect"} if burst.subject.kind == "stream" else {},
    )


def _timeouts_before(burst: Burst, logs: LogEvidence) -> str:
    """Half a sentence if the same application had timeouts shortly before, so that it may retry stored messages."""
    if burst.first is None or burst.last is None:
        return ""
    who, zoned = {item.logged_by for item in burst.found}, burst.first.zoned
    late = sum(
        occurrence.between(burst.first.us - _BEFORE_US, burst.last.us)
        for occurrence in logs.occurrences(*_TIMEOUTS)
        if occurrence.logged_by in who and occurrence.zoned == zoned
    )
    return f"; after {counted(late, 'timeout')}, so it may retry what was stored" if late else ""


_WRONG_ID = 10070
_CODES = (10071, 10164, _WRONG_ID)
"""Wrong sequence, in flight, and wrong id."""
_TEN_MINUTES_NS = 600_000_000_000


@check("sequence_mismatch.wrong_last_sequence_captured")
def wrong_last_sequence_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each stream. JSD202 judges publishes that expect more than the last sequence."""
    reported = False
    for subject, item in refused(packets, lambda code: code in _CODES).items():
        if others := [entry for entry in item if entry.refusal.ahead != entry.refusal.count]:
            reported = True
            yield _finding_captured(subject, others, params)
    if not reported:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _finding_captured(subject: Subject, refused_by: list[RefusedBy], params: Params) -> Finding:
    count = sum(refusal.refusal.count - refusal.refusal.ahead for refusal in refused_by)
    stored = sum(refusal.refusal.after_stored for refusal in refused_by)
    again = max(refusal.refusal.repeats for refusal in refused_by)
    refusals = [refusal.refusal for refusal in refused_by]
    by_id = any(refusal.err_code == _WRONG_ID for refusal in refusals)
    severity: Severity | None = None
    repeats, burst, rate = params.integer("repeats"), params.integer("burst"), _per_ten_minutes(refused_by)
    measured: tuple[float, int, str] = (again, repeats, "count")
    if stored:
        view = max(refused_by, key=lambda refusal: refusal.refusal.after_stored).view
        cause = (
            f"{stored:,} of these {'repeats' if stored == 1 else 'repeat'} a message that had been stored, or got no"
            " reply yet, so it is there already"
        )
        cause = "; ".join(filter(None, (cause, network_faults(view))))
    elif by_id:
        cause = "the id of the last message was not the expected one; JSD713 explains what that can do"
    elif again >= repeats:
        cause = (
            f"one expectation was refused {again:,} times: it probably tries again without reading where the stream is"
        )
    elif rate >= burst:
        measured = (round(rate), burst, "count")
        cause = "writers contend for the same sequence"
    else:
        severity, cause = Severity.INFO, "two writers at once, which is ordinary where they read again and try again"
    return failed(
        subject,
        f"{_publishes(count)} refused for an expected sequence or id ({refusals[0].description}): {cause}",
        *(value for refusal in refused_by for value in observed(refusal.view, **_figures(refusal))),
        severity=severity,
        measured=measured,
        between=period(*refusals),
        remedy={"action": "stream.inspect"} if subject.kind == "stream" else {},
    )


def _publishes(count: int) -> str:
    return "1 publish was" if count == 1 else f"{count:,} publishes were"


def _per_ten_minutes(refusals: list[RefusedBy]) -> float:
    """The number of refusals in ten minutes; all of them if the capture is shorter."""
    first = min(refusal.refusal.first_ns for refusal in refusals)
    last = max(refusal.refusal.last_ns for refusal in refusals)
    return total(refusals) * min(1.0, _TEN_MINUTES_NS / max(last - first, 1))


def _figures(refused_by: RefusedBy) -> dict[str, object]:
    refusal = refused_by.refusal
    return {
        "refused": refusal.count - refusal.ahead,
        "error": f"{refusal.err_code} {refusal.description}",
        "subject": refusal.subject,
        "expected": refusal.expected,
        "actual": refusal.actual,
        "after_it_was_stored": refusal.after_stored,
    }
