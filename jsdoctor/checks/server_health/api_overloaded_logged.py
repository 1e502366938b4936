"""JSD807: JetStream API requests that a server threw away because too many were waiting."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import by_server, finding_of, is_recent
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence


@check("server_health.api_overloaded_logged")
def api_overloaded_logged(logs: LogEvidence) -> Iterator[Finding]:
    """At its limit the server drops the whole queue and answers none of it (jetstream_api.go apiDispatch)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = bursts(logs, "api-requests-dropped", "api-queue-long", subjects=by_server, calm=False)
    for burst in found:
        dropped = burst.largest("dropped")
        what = (
            f"it threw away JetStream API requests, up to {dropped:,} at once"
            if dropped
            else f"up to {burst.largest('pending') or 0:,} JetStream API requests were waiting"
        )
        severity = Severity.ERROR if dropped and is_recent(logs, burst) else None
        yield finding_of(
            burst,
            f"{what} ({burst.story}); their clients waited in vain and ask again. Such lines are written at most once a"
            " second",
            severity,
        )
    if not found:
        yield passed(CLUSTER)
