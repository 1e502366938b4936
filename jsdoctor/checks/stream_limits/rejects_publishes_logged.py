"""JSD603: publishes that were refused because a stream is full, by publishers' logs and servers' debug lines."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import no_client_lines, subject_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_CLIENT = ("client-stream-full-messages", "client-stream-full-bytes", "client-stream-full-subject")


@check("stream_limits.rejects_publishes_logged")
def rejects_publishes_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Servers write it at level DBG only, so the logs of servers alone cannot show that nothing was refused."""
    found = [
        *bursts(logs, "stream-full", subjects=subject_of, calm=False),
        *bursts(logs, *_CLIENT, subjects=client_of),
    ]
    for burst in found:
        what = burst.values("reason") or "the stream is full"
        who = "it refuses messages" if burst.subject.kind == "stream" else "its publishes were refused"
        finding = finding_of(
            burst,
            f"{who}, {what} (10077): {burst.story}. What is not published again is lost",
            None if is_recent(logs, burst) else Severity.WARNING,
        )
        yield msgspec.structs.replace(finding, remedy={"action": "stream.inspect"})  # logs do not tell its limits
    if not found:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()
