"""JSD809: refused logins, as servers and applications logged them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import by_server, finding_of
from jsdoctor.checks.logs.windows import most_within
from jsdoctor.checks.logs.words import listed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, passed
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span

_CLIENT = (
    "client-login-refused",
    "client-login-refused-lower-case",
    "client-login-failed",
    "client-credentials-revoked",
)
_NO_CLIENT = ("EOF", "first record does not look like", "i/o timeout", "connection reset")
"""What port scans and health checks of the wrong kind leave of a TLS handshake."""


@check("server_health.login_refused_logged")
def login_refused_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Every refused login is one line (client.go authViolation); from 2.11 on without a user where none was given."""
    quiet = True
    for burst in bursts(logs, "login-refused", "tls-handshake-failed", subjects=by_server, calm=False):
        lines = [one for one in burst.found if not any(word in one.value("reason") for word in _NO_CLIENT)]
        if _most(lines, params, None) >= params.integer("min_failures"):
            quiet = False
            yield _finding(burst, lines, params)
    for burst in bursts(logs, *_CLIENT, subjects=client_of):
        quiet = False
        message = f"its logins were refused: {burst.story}"
        yield finding_of(burst, message, None if burst.most >= params.integer("min_failures") else Severity.INFO)
    if quiet:
        yield passed(CLUSTER)


def _most(lines: Sequence[Occurrence], params: Params, field: str | None) -> int:
    """The most failures within the window: of one address or user where `field` names it, else of all together."""
    if not any(one.histogram for one in lines):
        return sum(one.count for one in lines)
    return most_within(lines, params.integer("window") // 1000, (lambda one: one.value(field)) if field else None)


def _finding(burst: Burst, lines: Sequence[Occurrence], params: Params) -> Finding:
    most = max(_most(lines, params, "address"), _most(lines, params, "user"))
    grave = most >= params.integer("max_failures")
    users = listed(one.value("user") for one in lines if one.value("user"))
    reasons = listed(one.value("reason") for one in lines if one.value("reason"))
    found = finding_of(
        burst,
        f"{counted(sum(one.count for one in lines), 'login')} failed, up to {most:,} of one address or user within"
        f" {span(params.integer('window'))} ({burst.story}), from {listed(one.value('address') for one in lines)}"
        + (f", user {users}" if users else "")
        + (f", for {reasons}" if reasons else "")
        + ": a client has the wrong credentials and tries again, or somebody is guessing",
        None if grave else Severity.INFO,
    )
    return msgspec.structs.replace(found, measured=most, evidence=tuple(_shown(found.evidence)))


def _shown(lines: Sequence[Observation]) -> Iterator[Observation]:
    """Servers before 2.11.2 write the token of a login by token into the line."""
    for line in lines:
        before, token, _ = str(line.value).partition('Token "')
        yield msgspec.structs.replace(line, value=before + "Token") if token else line
