"""JSD808: connections that a server turned away or could not accept, by its log and by its clients'."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import by_server, finding_of, is_recent
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_UNABLE = ("connection-not-accepted", "listener-failed")
_FULL = ("connection-refused-server-full", "connection-refused-account-full", "connection-refused-tls-rate")
_EVERYBODY = (*_UNABLE, "connection-refused-server-full", "client-refused-full")
_TURNED_AWAY = ("client-refused-full", "client-refused-account-full")
_WHY = {
    "connection-refused-server-full": "max_connections of the server was reached",
    "connection-refused-account-full": "the connections that an account may have were used up",
    "connection-refused-tls-rate": "more TLS connections came in a second than the server takes",
    "connection-not-accepted": "connections could not be accepted, often for lack of file descriptors",
    "listener-failed": "a listener failed",
    "client-refused-full": "the server had no connection left for it",
    "client-refused-account-full": "its account had no connection left",
}


@check("server_health.connection_flood_logged")
def connection_flood_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Connections that come and go in order are not logged at the usual level; what was refused is."""
    found = [
        *bursts(logs, *_UNABLE, *_FULL, subjects=by_server, calm=False),
        *bursts(logs, *_TURNED_AWAY, subjects=client_of),
    ]
    for burst in found:
        yield finding_of(burst, _words(burst), _severity(logs, burst))
    if not found:
        yield passed(CLUSTER)


def _severity(logs: LogEvidence, burst: Burst) -> Severity | None:
    unable = any(one.signature in _UNABLE for one in burst.found)
    return Severity.ERROR if unable and is_recent(logs, burst) else None


def _words(burst: Burst) -> str:
    why = "; ".join(dict.fromkeys(_WHY[one.signature] for one in burst.found))
    who = f", from {burst.values('address')}" if burst.values("address") else ""
    reasons = [dict(line.fields).get("reason", "") for one in burst.found for line in one.exemplars]
    reason = f" ({reasons[-1]})" if any(reasons) else ""
    all_of_them = any(one.signature in _EVERYBODY for one in burst.found)
    then = ". Nobody else gets in either, operators included" if all_of_them else ""
    return f"{why}{reason}: {burst.story}{who}{then}"
