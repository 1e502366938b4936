"""JSD846, from logs: an application that goes on after its client closed the connection for good."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import detailed_finding, is_recent
from jsdoctor.checks.logs.words import no_client_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params

_CLOSED = ("connection-closed-for-good", "connection-closed-for-good-in-java")
_THEN = (
    "a client that has used up its attempts to reconnect closes the connection and does not come back before the"
    " application is started again, unless the application closed it itself"
)


@check("server_health.connection_closed_logged")
def connection_closed_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """While an application ends, its own threads may still log it: what goes on for a while does not end."""
    if not logs.has_client_logs:
        yield no_client_lines()
        return
    quiet = True
    for burst in bursts(logs, *_CLOSED, subjects=client_of, calm=False):
        quiet = False
        lasting = burst.count >= params.integer("closed_often") and _lasts(burst, params.integer("closed_for"))
        severity = None if lasting and is_recent(logs, burst) else Severity.INFO
        yield detailed_finding(burst, "it uses a connection that is closed", _THEN, severity)
    if quiet:
        yield passed(CLUSTER)


def _lasts(burst: Burst, for_ns: int) -> bool:
    first, last = burst.first, burst.last
    return first is not None and last is not None and (last.us - first.us) * 1000 >= for_ns
