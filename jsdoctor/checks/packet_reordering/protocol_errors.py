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
    """By connection whose protocol can be read."""
    talk = view.nats
    if talk.content is not Content.NATS:
        return None
    silent = talk.whole and talk.longest_ping_wait_ns >= params.integer("ping_wait")
    if not talk.errors and not silent:
        return passed(view.subject)
    parts = [_said(view, error) for error in talk.errors]
    if silent:
        parts.append(f"a PING got no response for {span(talk.longest_ping_wait_ns)}")
    return failed(
        view.subject,
        f"{'; '.join(parts)}{view.who}",
        *observed(
            view,
            **{f"-ERR {number}": error.text for number, error in enumerate(talk.errors, 1)},
            closed=view.tcp.closed or "still open",
        ),
        measured=(
            sum(error.count for error in talk.errors) or talk.longest_ping_wait_ns,
            None if talk.errors else params.integer("ping_wait"),
            "count" if talk.errors else "duration",
        ),
        between=(
            moment(talk.errors[0].first_ns if talk.errors else view.tcp.first_ns),
            moment(max((error.last_ns for error in talk.errors), default=view.tcp.last_ns)),
        ),
    )


def _said(view: View, error: ProtocolError) -> str:
    sender, hearer = view.ends[1], view.ends[0]
    if not error.from_server:
        sender, hearer = hearer, sender
    often = f" {error.count:,} times" if error.count > 1 else ""
    meaning = next((words for text, words in _MEANING.items() if text in error.text.lower()), "")
    return f"{sender} sent {hearer}{often} '{error.text}'" + (f": {meaning}" if meaning else "")
