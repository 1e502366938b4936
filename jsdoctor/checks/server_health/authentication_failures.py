"""JSD809: logins that fail, over and over again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.closings import closed_within, may_name_users, most_common
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Severity, passed, unknown
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
    """A server keeps the last 10,000 closed connections with the reason (server: monitor.go Connz)."""
    window_ns = params.integer("window")
    for listed in connections.servers:
        if listed.closed is None:
            yield unknown(listed.subject, "its closed connections were not listed", "see the gaps of this run")
            continue
        failed = [one for one in closed_within(listed, window_ns) if one.reason in _REASONS]
        if len(failed) < params.integer("min_failures"):
            yield passed(listed.subject)
        else:
            yield _finding(listed, failed, may_name_users(servers, listed.server), params)


def _finding(listed: ServerConnections, failed: Sequence[ClientConnection], may_name: bool, params: Params) -> Finding:
    most = max(_most(one.ip for one in failed), _most(one.authorized_user for one in failed))
    burst, limit = most >= params.integer("max_failures"), params.integer("max_failures")
    strangers = all(not (one.authorized_user or one.lang) for one in failed)
    return Finding(
        subject=listed.subject,
        severity=None if burst else Severity.INFO,
        message=f"{counted(len(failed), 'login')} failed within {span(params.integer('window'))}, from"
        f" {most_common(one.ip for one in failed)}{_users(failed, may_name)}: "
        + (
            "none gave a name or a client library, as a port scan or a health check of the wrong kind does"
            if strangers
            else "a client has the wrong credentials and tries again, or somebody is guessing"
        ),
        measured=most if burst else len(failed),
        threshold=limit if burst else params.integer("min_failures"),
        unit="count",
        evidence=(
            listed.observed("connz.closed by reason", most_common(one.reason for one in failed)),
            listed.observed("connz.closed by address", most_common(one.ip for one in failed)),
            listed.observed("connz.closed by library", most_common(one.lang for one in failed)),
            listed.observed("last stop", max(one.stop for one in failed if one.stop)),
        ),
        remedy={"reason": Counter(one.reason for one in failed).most_common(1)[0][0]},
    )


def _most(values: Iterable[str]) -> int:
    """How often the most frequent value comes; an address or a user that is not known is nobody."""
    return max(Counter(value for value in values if value).values(), default=0)


def _users(failed: Sequence[ClientConnection], may_name: bool) -> str:
    users = most_common(one.authorized_user for one in failed)
    if not users:
        return ""
    return f", user {users}" if may_name else ", users not shown: in their place this version may have tokens"
