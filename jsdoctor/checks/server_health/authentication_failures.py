"""JSD809: logins that fail, over and over again.

From logs: refused logins, as servers and applications logged them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from jsdoctor.checks.logs.bursts import Burst, are_within, bursts, most_within
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import by_server, client_of, listed
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, may_name_users, most_common, not_listed, observed_closings
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.wording import counted, span

_REASONS = frozenset(
    (
        "Authentication Failure",
        "Authentication Timeout",
        "Missing Account",
        "Credentials Revoked",
        "Proxy Not Trusted",
        "Proxy Required",
    )
)
"""Not "Authentication Expired": short-lived credentials expire, and the client comes back with new ones."""


@check("server_health.authentication_failures")
def authentication_failures(connections: Connections, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Judge the refused logins among the last 10,000 closed connections that a server keeps (monitor.go Connz)."""
    window_ns = params.integer("window")
    for server in connections.servers:
        if server.closed is None:
            yield not_listed(server)
            continue
        refused = [connection for connection in closed_within(server, window_ns) if connection.reason in _REASONS]
        if len(refused) < max(params.integer("min_failures"), 1):
            yield passed(server.subject)
        else:
            yield _finding(server, refused, may_name_users(servers, server.server), params)


def _finding(server: ServerConnections, refused: Sequence[ClientConnection], may_name: bool, params: Params) -> Finding:
    most = max(
        _highest_count(connection.ip for connection in refused),
        _highest_count(connection.authorized_user for connection in refused),
    )
    burst, limit = most >= params.integer("max_failures"), params.integer("max_failures")
    are_anonymous = all(not (connection.authorized_user or connection.lang) for connection in refused)
    return failed(
        server.subject,
        f"{counted(len(refused), 'login')} failed within {span(params.integer('window'))}, from"
        f" {most_common(connection.ip for connection in refused)}{_users(refused, may_name)}: "
        + (
            "none gave a name or a client library, as a port scan or a health check of the wrong kind does"
            if are_anonymous
            else "a client has the wrong credentials and tries again, or credentials are being guessed"
        ),
        *observed_closings(server, refused),
        severity=None if burst else Severity.INFO,
        measured=(most if burst else len(refused), limit if burst else params.integer("min_failures"), "count"),
        remedy={"reason": Counter(connection.reason for connection in refused).most_common(1)[0][0]},
    )


def _highest_count(values: Iterable[str]) -> int:
    """Count of the most frequent value; unknown addresses and users are left out."""
    return max(Counter(value for value in values if value).values(), default=0)


def _users(refused: Sequence[ClientConnection], may_name: bool) -> str:
    users = most_common(connection.authorized_user for connection in refused)
    if not users:
        return ""
    return f", user {users}" if may_name else ", users not shown: in their place this version may have tokens"


_CLIENT_SIGNATURES = (
    "client-login-refused",
    "client-login-refused-lower-case",
    "client-login-failed",
    "client-credentials-revoked",
)
_NOT_A_CLIENT = ("EOF", "first record does not look like", "i/o timeout", "connection reset")
"""Parts of reasons of failed TLS handshakes that port scans and wrong health checks cause."""


@check("server_health.login_refused_logged", lines_of="any")
def login_refused_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Every refused login is one line (client.go authViolation); from 2.11 on without a user where none was given."""
    for burst in bursts(logs, "login-refused", "tls-handshake-failed", subjects=by_server, calm=False):
        lines = [item for item in burst.found if not any(word in item.value("reason") for word in _NOT_A_CLIENT)]
        if _are_many(lines, params):
            yield _finding_logged(burst, lines, params)
    for burst in bursts(logs, *_CLIENT_SIGNATURES, subjects=client_of):
        message = f"its logins were refused: {burst.story}"
        yield finding_of(burst, message, None if burst.most >= params.integer("min_failures") else Severity.INFO)


def _are_many(lines: Sequence[Occurrence], params: Params) -> bool:
    least = params.integer("min_failures")
    if not any(line.histogram for line in lines):
        return sum(line.count for line in lines) >= least
    return are_within(least, lines, params.integer("window") // 1000)


def _most_logged(lines: Sequence[Occurrence], params: Params, field: str) -> int:
    """The most failures of one address or user, which the field names, within the window."""
    if not any(line.histogram for line in lines):
        return sum(line.count for line in lines)
    return most_within(lines, params.integer("window") // 1000, lambda item: item.value(field))


def _finding_logged(burst: Burst, lines: Sequence[Occurrence], params: Params) -> Finding:
    most = max(_most_logged(lines, params, "address"), _most_logged(lines, params, "user"))
    is_severe = most >= params.integer("max_failures")
    users = listed(line.value("user") for line in lines if line.value("user"))
    reasons = listed(line.value("reason") for line in lines if line.value("reason"))
    finding = finding_of(
        burst,
        f"{counted(sum(line.count for line in lines), 'login')} failed, up to {most:,} of one address or user within"
        f" {span(params.integer('window'))} ({burst.story}), from {listed(line.value('address') for line in lines)}"
        + (f", user {users}" if users else "")
        + (f", for {reasons}" if reasons else "")
        + ": a client has the wrong credentials and tries again, or credentials are being guessed",
        None if is_severe else Severity.INFO,
    )
    return msgspec.structs.replace(finding, measured=most, evidence=tuple(_without_tokens(finding.evidence)))


def _without_tokens(lines: Sequence[Observation]) -> Iterator[Observation]:
    """The lines, cut before a login's token, which servers before 2.11.2 log."""
    for line in lines:
        before, token, _ = str(line.value).partition('Token "')
        yield msgspec.structs.replace(line, value=before + "Token") if token else line
