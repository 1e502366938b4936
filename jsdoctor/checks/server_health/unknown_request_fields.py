"""JSD850: requests with fields that the server does not know, which servers refuse from 2.12 on."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import Servers

SIGNATURE = "request-field-unknown"
STRICT = (2, 12)
_BETWEEN_SERVERS = {"sourcing"}
"""Fields that servers of two releases in one cluster send each other; they retry without them (server: stream.go)."""


@check("server_health.unknown_request_fields_logged", lines_of="servers")
def unknown_request_fields_logged(logs: LogEvidence, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Report unknown fields; servers before 2.12 log them and accept the request, so its sender does not notice."""
    for burst in bursts(logs, SIGNATURE, calm=False):
        refusing = sorted(
            {occurrence.logged_by for occurrence in burst.found if _refuses(occurrence.logged_by, logs, servers)}
        )
        what = f"requests {burst.values('kind')} have a field that servers do not know: {burst.values('reason')}"
        effect = f"refused with 10025 by {', '.join(refusing)}" if refusing else _LATER
        yield finding_of(burst, f"{what} ({burst.story}); {effect}", _severity(burst, bool(refusing), params))


def requests_to_refuse(logs: LogEvidence) -> Iterator[Occurrence]:
    """Requests of clients with unknown fields, which strict servers refuse."""
    return (each for each in logs.occurrences(SIGNATURE) if each.value("reason") not in _BETWEEN_SERVERS)


_LATER = "accepted as long as a server is older than 2.12 or has strict: false, and refused with 10025 after that"


def _severity(burst: Burst, refused: bool, params: Params) -> Severity | None:
    own = all(occurrence.value("reason") in _BETWEEN_SERVERS for occurrence in burst.found)
    if own or burst.count < params.integer("repeated"):
        return Severity.INFO
    return None if refused else Severity.WARNING


def _refuses(name: str, logs: LogEvidence, servers: Servers | None) -> bool:
    """Whether a server refuses unknown fields: by its `strict` setting, else by its release."""
    reported = next((server for server in (servers.servers if servers else ()) if server.name == name), None)
    if reported and reported.jetstream and reported.jetstream.config:
        return reported.jetstream.config.strict
    logged = next((server.versions[-1] for server in logs.servers if server.name == name and server.versions), "")
    return release(logged or version_at(name, servers, None))[:2] >= STRICT
