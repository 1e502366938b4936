"""JSD808: clients that come and go all the time, and servers that run out of connections.

From logs: connections that a server turned away or could not accept, by its log and by its clients'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import by_server, client_of
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, most_common
from jsdoctor.model.connections import ClientConnection, Connections
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers, Varz
from jsdoctor.model.trend import ServerHistory, ServerTrend
from jsdoctor.model.wording import counted

_TURNED_AWAY = "Maximum Connections Exceeded"
_ACCOUNT_FULL = "Maximum Account Connections Exceeded"
_OWN_CONNECTIONS = 2
"""Connections that this run itself may have opened and closed between its samples."""

_MIN_NAMED = 10
"""With fewer closed connections no clients are named, as the list was read before the second sample."""


@check("server_health.connection_flood", compares_samples=True)
def connection_flood(
    servers: Servers, trend: ServerTrend | None, connections: Connections | None, params: Params
) -> Iterator[Finding]:
    """Judge used connections and churn: each new client costs a login, and its subscriptions go to all servers."""
    histories = {history.last.name: history for history in (trend.servers if trend else ())}
    lists = {listed.server: listed for listed in (connections.servers if connections else ())}
    for server in servers.servers:
        if server.varz is None:
            yield unknown(server.subject, "its variables were not read", "see the gaps of this run")
            continue
        listed, window_ns = lists.get(server.name), params.integer("window")
        closed = list(closed_within(listed, window_ns)) if listed else []
        findings = [
            *_full(server, server.varz, closed, params),
            *_account_full(server, closed),
            *_churn_finding(
                server, server.varz, _churn_per_s(histories.get(server.name), closed, params), closed, params
            ),
        ]
        yield _together(findings) if findings else passed(server.subject)


def _together(findings: Sequence[Finding]) -> Finding:
    """The worst of these findings on one server, with the messages and the evidence of the others."""
    worst = max(findings, key=lambda finding: (finding.severity or Severity.WARNING).rank)
    others = [finding for finding in findings if finding is not worst]
    message = "; ".join((worst.message, *(other.message for other in others)))
    seen = [observation for finding in (worst, *others) for observation in finding.evidence]
    once = tuple(observation for place, observation in enumerate(seen) if observation not in seen[:place])
    return replace(worst, message=message, evidence=once)


def _full(server: Server, varz: Varz, closed: Sequence[ClientConnection], params: Params) -> Iterator[Finding]:
    """A finding if clients reach `max_connections`, which does not count routes, gateways and leaf nodes."""
    turned_away = [connection for connection in closed if connection.reason == _TURNED_AWAY]
    used = varz.connections / varz.max_connections if varz.max_connections > 0 else 0.0
    full = bool(turned_away) or used >= params.number("max_used")
    if not full and used < params.number("warn_used"):
        return
    lately = f"{counted(len(turned_away), 'client')} turned away lately"
    now = lately if turned_away else "soon new ones are turned away"
    yield failed(
        server.subject,
        f"{varz.connections:,} of at most {varz.max_connections:,} connections are open: "
        + (now if full else "at the limit new ones are turned away")
        + _origin_text(turned_away),
        server.observed("connections", varz.connections),
        server.observed("max_connections", varz.max_connections),
        *_closings(server, turned_away),
        severity=Severity.ERROR if full else None,
        measured=(len(turned_away), 0, "count")
        if turned_away and used < params.number("max_used")
        else (used, params.number("max_used" if full else "warn_used"), "ratio"),
    )


def _account_full(server: Server, closed: Sequence[ClientConnection]) -> Iterator[Finding]:
    """A finding for clients that were refused by the limit of their account, which the server does not report."""
    turned_away = [connection for connection in closed if connection.reason == _ACCOUNT_FULL]
    if turned_away:
        yield failed(
            server.subject,
            f"{counted(len(turned_away), 'client')} turned away lately, as their account had as many"
            f" connections as it may{_origin_text(turned_away)}",
            *_closings(server, turned_away),
            measured=(len(turned_away), 0, "count"),
        )


def _churn_per_s(history: ServerHistory | None, closed: Sequence[ClientConnection], params: Params) -> float:
    """Connections per second that were opened and closed: by the list of closed ones, or more between the samples.

    Samples count from `min_between` on: dozens of clients that reconnect once are a high rate for seconds only.
    """
    window_ns = params.integer("window")
    by_list = len(closed) / (window_ns / 1e9) if window_ns else 0.0
    if history is None or history.restarted or not (history.first.varz and history.last.varz):
        return by_list
    first, last = history.first.varz, history.last.varz
    came = last.total_connections - first.total_connections
    stayed = max(0, last.connections - first.connections)
    replaced = came - stayed - _OWN_CONNECTIONS
    return max(by_list, replaced / history.elapsed_s) if replaced >= params.integer("min_between") else by_list


def _churn_finding(
    server: Server, varz: Varz, per_s: float, closed: Sequence[ClientConnection], params: Params
) -> Iterator[Finding]:
    if per_s < params.number("warn_rate"):
        return
    heavy, many = per_s >= params.number("max_rate"), len(closed) >= _MIN_NAMED
    rate = f"{per_s:,.0f}" if per_s >= 1 else f"{per_s:.1f}"
    yield failed(
        server.subject,
        f"{rate} clients a second connect and leave again{_origin_text(closed) if many else ''}: each of them costs a"
        " login, and the cluster learns each of their subscriptions",
        server.observed("total_connections", varz.total_connections),
        server.observed("connections", varz.connections),
        *_closings(server, closed),
        severity=Severity.ERROR if heavy else None,
        measured=(round(per_s, 1), params.number("max_rate" if heavy else "warn_rate"), "per_second"),
    )


def _origin_text(closed: Sequence[ClientConnection]) -> str:
    """The addresses and accounts of closed connections, as half a sentence."""
    addresses = most_common(connection.ip for connection in closed)
    accounts = most_common(connection.account for connection in closed)
    return f", from {addresses}" + (f", account {accounts}" if accounts else "") if closed else ""


def _closings(server: Server, closed: Sequence[ClientConnection]) -> Iterator[Observation]:
    if closed:
        yield server.observed("connz.closed by reason", most_common(connection.reason for connection in closed))
        yield server.observed(
            "connz.closed by library",
            most_common(f"{connection.lang} {connection.version}".strip() for connection in closed),
        )


_UNABLE = ("connection-not-accepted", "listener-failed")
_FULL = ("connection-refused-server-full", "connection-refused-account-full", "connection-refused-tls-rate")
_ALL_REFUSED = (*_UNABLE, "connection-refused-server-full", "client-refused-full")
_REASONS = {
    "connection-refused-server-full": "max_connections of the server was reached",
    "connection-refused-account-full": "the connections that an account may have were used up",
    "connection-refused-tls-rate": "more TLS connections came in a second than the server takes",
    "connection-not-accepted": "connections could not be accepted",
    "listener-failed": "a listener failed",
    "client-refused-full": "the server had no connection left for it",
    "client-refused-account-full": "its account had no connection left",
}


@check("server_health.connection_flood_logged", lines_of="any")
def connection_flood_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report refused connections; those that come and go in order are not logged at the usual level."""
    log_bursts = [
        *bursts(logs, *_UNABLE, *_FULL, subjects=by_server, calm=False),
        *bursts(logs, "client-refused-full", "client-refused-account-full", subjects=client_of),
    ]
    for burst in log_bursts:
        unable = any(occurrence.signature in _UNABLE for occurrence in burst.found)
        yield finding_of(burst, _refusals_text(burst), Severity.ERROR if unable and is_recent(logs, burst) else None)


def _refusals_text(burst: Burst) -> str:
    why = "; ".join(dict.fromkeys(_REASONS[occurrence.signature] for occurrence in burst.found))
    who = f", from {burst.values('address')}" if burst.values("address") else ""
    reasons = [dict(line.fields).get("reason", "") for occurrence in burst.found for line in occurrence.exemplars]
    reason = f" ({reasons[-1]})" if any(reasons) else ""
    all_of_them = any(occurrence.signature in _ALL_REFUSED for occurrence in burst.found)
    effect = ". Meanwhile no other client could connect, operators included" if all_of_them else ""
    return f"{why}{reason}: {burst.story}{who}{effect}"
