"""JSD202, from packets: publishes refused because they expect more than the stream has."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.publishes import RefusedBy, no_publishes, readable_publishers, refused
from jsdoctor.checks.packets.views import moment
from jsdoctor.checks.packets.words import observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_WRONG_SEQUENCE = 10071


@check("sequence_mismatch.expected_ahead_captured")
def expected_ahead_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By stream. The wire shows both numbers: what the publish expected and what the server has."""
    told = False
    for subject, found in refused(packets, _WRONG_SEQUENCE).items():
        if ahead := [one for one in found if one.refusal.ahead]:
            told = True
            yield _finding(subject, ahead, params)
    if not told:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _finding(subject: Subject, ahead: list[RefusedBy], params: Params) -> Finding:
    count = sum(one.refusal.ahead for one in ahead)
    last = max((one.refusal for one in ahead), key=lambda refusal: refusal.last_ns)
    numbers = ""
    if last.expected is not None and last.actual is not None and last.expected > last.actual:
        numbers = f", {last.expected:,} where it has {last.actual:,}"
    return Finding(
        subject=subject,
        severity=None if count >= params.integer("repeats") else Severity.INFO,
        message=(
            f"{count:,} {'publish was' if count == 1 else 'publishes were'} refused for expecting a sequence that"
            f" the stream or the subject has not reached{numbers}: it was made anew, restored, purged or lost messages;"
            " they fail until the publisher reads the last sequence again"
        ),
        measured=count,
        threshold=params.integer("repeats"),
        unit="count",
        evidence=tuple(
            value
            for one in ahead
            for value in observed(one.view, refused=one.refusal.ahead, error=one.refusal.description)
        ),
        first_seen=moment(min(one.refusal.first_ns for one in ahead)),
        last_seen=moment(last.last_ns),
        remedy={"action": "stream.inspect"} if subject.kind == "stream" else {},
    )
