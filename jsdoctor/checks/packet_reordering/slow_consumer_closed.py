"""JSD522: clients whose connection the server closed because they did not read."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, moment, observed
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.nats_traffic import Content
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_SLOW = "slow consumer"


@connection_check("packet_reordering.slow_consumer_closed", severity=Severity.ERROR)
def slow_consumer_closed(view: View, params: Params) -> Finding | None:
    """Judge each connection: the client stops reading first, then the server ends the connection."""
    client, server = (direction.flow for direction in view.directions)
    reported = any(_SLOW in error.text.lower() for error in view.nats.errors)
    stalled = client.longest_zero_window_ns >= params.integer("stalled")
    ended = server.ended_ns and (not client.ended_ns or server.ended_ns <= client.ended_ns)
    in_time = server.ended_ns - client.zero_until_ns <= params.integer("within")
    if not (reported or (stalled and ended and in_time)):
        return passed(view.subject) if view.nats.content is Content.NATS or client.zero_windows else None
    how = "with -ERR 'Slow Consumer'" if reported else "without a message, as it does with slow consumers"
    return failed(
        view.subject,
        f"{view.ends[0]} did not read for up to {span(client.longest_zero_window_ns)} at a time, and"
        f" {view.ends[1]} ended the connection {how}{view.who}",
        *observed(
            view,
            longest_zero_window_ns=client.longest_zero_window_ns,
            zero_window_ns=client.zero_window_ns,
            deliveries=view.nats.deliveries,
            bytes_to_client=server.distinct_bytes,
        ),
        measured=(client.longest_zero_window_ns, params.integer("stalled"), "duration"),
        between=(moment(view.tcp.first_ns), moment(server.ended_ns or view.tcp.last_ns)),
    )
