"""JSD202: publishes refused because they expect more than the stream has.

From packets: publishes refused because they expect more than the stream has.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.packets.traffic import RefusedBy, no_publishes, readable_publishers, refused
from jsdoctor.checks.packets.views import moment, observed
from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.refusals import REFUSED, all_ahead, repeated, some_ahead
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params


@check("sequence_mismatch.expected_ahead_logged", lines_of="clients")
def expected_ahead_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each application or, if servers log with debug or trace, for each stream."""
    for burst in bursts(logs, *REFUSED, subjects=client_of, calm=False):
        if not any(map(some_ahead, burst.found)):
            continue
        surely_ahead = sum(occurrence.count for occurrence in burst.found if all_ahead(occurrence))
        often = surely_ahead >= params.integer("repeats") or 0 in repeated(burst.found, params.integer("repeats"))
        some = "" if surely_ahead == burst.count else " (not all of these)"
        yield finding_of(
            burst,
            f"publishes refused, {burst.story}{some}, because they expect a sequence that the stream or the subject has"
            " not reached: it was recreated, restored, purged or lost messages; they fail until the publisher reads"
            " the last sequence again",
            None if often else Severity.INFO,
            measured=(surely_ahead, params.integer("repeats"), "count"),
            remedy={"action": "stream.inspect"} if burst.subject.kind == "stream" else {},
        )


_WRONG_SEQUENCE = 10071


@check("sequence_mismatch.expected_ahead_captured")
def expected_ahead_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each stream: captures show the sequence that the publish expected and that of the server."""
    reported = False
    for subject, item in refused(packets, lambda code: code == _WRONG_SEQUENCE).items():
        if ahead := [entry for entry in item if entry.refusal.ahead]:
            reported = True
            yield _finding_captured(subject, ahead, params)
    if not reported:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _finding_captured(subject: Subject, ahead: list[RefusedBy], params: Params) -> Finding:
    count = sum(refusal.refusal.ahead for refusal in ahead)
    last = max((refusal.refusal for refusal in ahead), key=lambda refusal: refusal.last_ns)
    numbers = ""
    if last.expected is not None and last.actual is not None and last.expected > last.actual:
        numbers = f", {last.expected:,} where it has {last.actual:,}"
    return failed(
        subject,
        f"{count:,} {'publish was' if count == 1 else 'publishes were'} refused for expecting a sequence that"
        f" the stream or the subject has not reached{numbers}: it was recreated, restored, purged or lost messages;"
        " they fail until the publisher reads the last sequence again",
        *(
            value
            for refusal in ahead
            for value in observed(refusal.view, refused=refusal.refusal.ahead, error=refusal.refusal.description)
        ),
        severity=None if count >= params.integer("repeats") else Severity.INFO,
        measured=(count, params.integer("repeats"), "count"),
        between=(moment(min(refusal.refusal.first_ns for refusal in ahead)), moment(last.last_ns)),
        remedy={"action": "stream.inspect"} if subject.kind == "stream" else {},
    )
