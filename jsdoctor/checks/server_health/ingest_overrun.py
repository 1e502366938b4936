"""JSD815: messages that came faster than their stream could store them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.log import LogEvidence


@check("server_health.ingest_overrun_logged", lines_of="any")
def ingest_overrun_logged(logs: LogEvidence) -> Iterator[Finding]:
    """What was published without a reply subject is dropped without an error (stream.go queueInbound)."""
    seen: set[Subject] = set()
    for burst in bursts(logs, "ingest-dropped", calm=False):
        seen.add(burst.subject)
        yield finding_of(
            burst,
            f"messages were discarded: they came faster than the stream stores them ({burst.values('reason')}):"
            f" {burst.story}. One line can stand for 100,000 messages; only publishers that wait for a reply notice",
        )
    for burst in bursts(logs, "stream-lag-high"):
        if burst.subject not in seen:
            seen.add(burst.subject)
            yield finding_of(
                burst,
                f"more than 10,000 of its messages waited for its replicas: {burst.story}. Its leader takes them faster"
                " than the others confirm",
                Severity.WARNING,
            )
    for burst in bursts(logs, "client-too-many-requests", subjects=client_of):
        seen.add(burst.subject)
        yield finding_of(
            burst,
            f"its publishes were refused with `too many requests` (10167): {burst.story}. Others on the same stream may"
            " have lost messages unnoticed",
            Severity.WARNING,
        )
