"""JSD202, from logs: publishes refused because they expect more than the stream has."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.words import no_client_lines
from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.refusals import REFUSED, all_ahead, repeated, some_ahead
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params


@check("sequence_mismatch.expected_ahead_logged")
def expected_ahead_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """By application or, where servers debug or trace, by stream."""
    ahead = [
        burst for burst in bursts(logs, *REFUSED, subjects=client_of, calm=False) if any(map(some_ahead, burst.found))
    ]
    for burst in ahead:
        yield _finding(burst, params)
    if not ahead:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()


def _finding(burst: Burst, params: Params) -> Finding:
    whole = sum(one.count for one in burst.found if all_ahead(one))
    often = whole >= params.integer("repeats") or 0 in repeated(burst.found, params.integer("repeats"))
    some = "" if whole == burst.count else " (not all of these)"
    return Finding(
        subject=burst.subject,
        severity=None if often else Severity.INFO,
        message=(
            f"publishes refused, {burst.story}{some}, because they expect a sequence that the stream or the subject has"
            " not reached: it was made anew, restored, purged or lost messages; they fail until the publisher reads"
            " the last sequence again"
        ),
        measured=whole,
        threshold=params.integer("repeats"),
        unit="count",
        first_seen=burst.first_seen,
        last_seen=burst.last_seen,
        evidence=burst.evidence,
        remedy={"action": "stream.inspect"} if burst.subject.kind == "stream" else {},
    )
