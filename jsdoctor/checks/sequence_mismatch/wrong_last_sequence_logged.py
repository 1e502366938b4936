"""JSD201, from logs: publishes refused for what they expected of the stream."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.words import no_client_lines
from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.refusals import REFUSED, all_ahead, repeated
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted

_IN_FLIGHT, _BY_ID = "publish-wrong-last-sequence-in-flight", "publish-wrong-last-msg-id"
_TIMEOUTS = ("publish-timed-out", "publish-ack-late")
_BEFORE_US = 60_000_000


@check("sequence_mismatch.wrong_last_sequence_logged")
def wrong_last_sequence_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """By application or, where servers trace, by stream. One finding each, for the gravest that was refused."""
    told = False
    for burst in bursts(logs, *REFUSED, _IN_FLIGHT, _BY_ID, subjects=client_of, calm=False):
        if all(one.signature in REFUSED and all_ahead(one) for one in burst.found):
            continue  # JSD202's
        told = True
        yield _finding(burst, logs, params)
    if not told:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()


def _finding(burst: Burst, logs: LogEvidence, params: Params) -> Finding:
    numbered = [one for one in burst.found if one.signature in REFUSED and not all_ahead(one)]
    stuck = repeated(numbered, params.integer("repeats")) - {0}
    severity: Severity | None = Severity.INFO
    cause = "two writers at once, which is ordinary where they read again and try again"
    if any(one.signature == _BY_ID for one in burst.found):
        severity, cause = None, "the id of the last message was not the expected one; JSD713 tells what that can do"
    elif stuck:
        severity = None
        cause = f"the last sequence stayed {min(stuck):,}: it tries again without reading where the stream is"
    elif burst.most >= params.integer("burst"):
        severity, cause = None, f"{burst.most:,} within ten minutes: writers contend for the same sequence"
    return Finding(
        subject=burst.subject,
        severity=severity,
        message=f"publishes refused for an expected sequence or id, {burst.story}: {cause}{_late(burst, logs)}",
        measured=burst.count,
        threshold=params.integer("repeats"),
        unit="count",
        first_seen=burst.first_seen,
        last_seen=burst.last_seen,
        evidence=burst.evidence,
        remedy={"action": "stream.inspect"} if burst.subject.kind == "stream" else {},
    )


def _late(burst: Burst, logs: LogEvidence) -> str:
    """Time-outs of the same application shortly before: then the retry of a stored message looks like this."""
    if burst.first is None or burst.last is None:
        return ""
    who, zoned = {one.logged_by for one in burst.found}, burst.first.zoned
    late = sum(
        one.between(burst.first.us - _BEFORE_US, burst.last.us)
        for one in logs.occurrences(*_TIMEOUTS)
        if one.logged_by in who and one.zoned == zoned
    )
    return f"; after {counted(late, 'timeout')}, so it may retry what was stored" if late else ""
