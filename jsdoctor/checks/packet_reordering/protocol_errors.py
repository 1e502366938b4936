"""JSD506: `-ERR` lines, and pings without a response."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, moment, observed
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.nats_traffic import Content, ProtocolError
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_MEANING = {
    "stale connection": "the other side responded to no PING: it hangs, or the network swallows what is sent",
    "maximum payload violation": "a message is larger than max_payload, and the server closes the connection for it",
    "authorization violation": "the login is wrong or may not connect here",
    "authentication timeout": "the login came too late: a slow network or a slow server",
    "authentication expired": "the login is no longer valid",
    "maximum connections exceeded": "the server, or the account, takes no more connections",
    "secure connection - tls required": "the client did not use TLS",
    "slow consumer": "the client reads too slowly",
}


@connection_check("packet_reordering.protocol_errors")
def protocol_errors(view: View, params: Params) -> Finding | None:
    """Judge each connection whose protocol can be read."""
    connection = view.nats
    if connection.content is not Content.NATS:
        return None
    silent = connection.whole and connection.longest_ping_wait_ns >= params.integer("ping_wait")
    if not connection.errors and not silent:
        return passed(view.subject)
    parts = [_error_text(view, error) for error in connection.errors]
    if silent:
        parts.append(f"a PING got no response for {span(connection.longest_ping_wait_ns)}")
    return failed(
        view.subject,
        f"{'; '.join(parts)}{view.who}",
        *observed(
            view,
            **{f"-ERR {number}": error.text for number, error in enumerate(connection.errors, 1)},
            closed=view.tcp.closed or "still open",
        ),
        measured=(
            sum(error.count for error in connection.errors) or connection.longest_ping_wait_ns,
            None if connection.errors else params.integer("ping_wait"),
            "count" if connection.errors else "duration",
        ),
        between=(
            moment(connection.errors[0].first_ns if connection.errors else view.tcp.first_ns),
            moment(max((error.last_ns for error in connection.errors), default=view.tcp.last_ns)),
        ),
    )


def _error_text(view: View, error: ProtocolError) -> str:
    sender, receiver = view.ends[1], view.ends[0]
    if not error.from_server:
        sender, receiver = receiver, sender
    often = f" {error.count:,} times" if error.count > 1 else ""
    meaning = next((words for text, words in _MEANING.items() if text in error.text.lower()), "")
    return f"{sender} sent {receiver}{often} '{error.text}'" + (f": {meaning}" if meaning else "")
