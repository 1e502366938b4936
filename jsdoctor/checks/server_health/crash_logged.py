"""JSD805: a stack trace of nats-server, as people paste it without the log around it, or one of its monitoring port."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import by_server, finding_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.log import LogEvidence


@check("server_health.crash_logged")
def crash_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A stack alone is no crash: /stacksz shows the same functions. A panic within a log is told with its process.

    Log viewers join the lines of a stack to one, which begins with the panic itself.
    """
    crashed = any(run.panic for run in logs.runs) and not logs.has_server_logs
    for burst in bursts(logs, "server-panic-frame", subjects=by_server, calm=False) if crashed else ():
        yield finding_of(burst, f"nats-server crashed in {_frame(burst)}", Severity.ERROR)
    for burst in bursts(logs, "server-panic-line", subjects=by_server, calm=False) if not logs.has_server_logs else ():
        yield finding_of(burst, f"nats-server crashed in {_frame(burst)}", Severity.ERROR)
    for burst in bursts(logs, "monitoring-panic", subjects=by_server, calm=False):
        yield finding_of(
            burst, f"a request to the monitoring port crashed: {burst.story}; the server goes on", Severity.WARNING
        )


def _frame(burst: Burst) -> str:
    """The function that is named first: the one that crashed."""
    frames = (dict(line.fields).get("frame") for one in burst.found for line in one.exemplars)
    return next((frame.removeprefix("github.com/nats-io/nats-server/") for frame in frames if frame), "some function")
