"""JSD845: connections that a server closed because of what came over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, most_common, not_listed, observed_closings
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span

_LIMITS = {
    "Maximum Message Payload Exceeded": "a message, with its headers, is larger than max_payload: it is lost, and"
    " everything that the client had not yet sent",
    "Maximum Control Line Exceeded": "a subject or a CONNECT line is longer than max_control_line",
    "Maximum Subscriptions Exceeded": "a connection has more subscriptions than the server or its account allows",
    "Message Header Violation": "a message has headers that this server does not take",
    "No Responders Requires Headers": "a client requests the status of no responders, and takes no headers, in which"
    " it would be",
}
"""Reasons with which a client of NATS exceeded a limit: it loses its connection and the messages in flight."""
_STRANGERS = {
    "Parse Error": "what came is not the protocol of NATS, as from an HTTP health check or a scan of ports",
    "Protocol Violation": "what came is not the protocol of NATS, or a client has an error",
    "Incorrect Port": "a connection leads to a port of another kind, as that of a leaf node to the port of clients:"
    " one that comes to this server, or a link that it makes itself",
    "Bad Client Protocol Version": "a client names a protocol that this server does not have",
    "TLS Handshake Failure": "a client without TLS, with a certificate that one side does not trust, or a health check"
    " that only opens a connection",
}
"""Reasons that are mostly caused by something that is no client of NATS."""


@check("server_health.cut_off")
def cut_off(connections: Connections, params: Params) -> Iterator[Finding]:
    """Judge the reasons of the last 10,000 closed connections that a server keeps (server: monitor.go Connz)."""
    window_ns = params.integer("window")
    for server in connections.servers:
        if server.closed is None:
            yield not_listed(server)
            continue
        closed = [
            connection
            for connection in closed_within(server, window_ns)
            if connection.reason in _LIMITS or connection.reason in _STRANGERS
        ]
        yield _finding(server, closed, params) if closed else passed(server.subject)


def _finding(server: ServerConnections, closed: Sequence[ClientConnection], params: Params) -> Finding:
    at_limits = [connection for connection in closed if connection.reason in _LIMITS]
    often = params.integer("often")
    lasting = len(at_limits) >= often
    reported = at_limits or closed
    reasons = {connection.reason for connection in reported}
    return failed(
        server.subject,
        f"it closed {counted(len(reported), 'connection')} within {span(params.integer('window'))} because of what"
        f" came over them, from {most_common(connection.name or connection.ip for connection in reported)}: "
        + "; ".join(f"{reason}: {why}" for reason, why in (_LIMITS | _STRANGERS).items() if reason in reasons),
        *observed_closings(server, closed),
        severity=None if lasting else Severity.INFO,
        measured=(len(reported), often, "count"),
    )
