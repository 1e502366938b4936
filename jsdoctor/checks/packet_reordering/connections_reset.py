"""JSD521: connections that a RST ended while they were in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jsdoctor.checks.packets.views import DirectionView, View, connection_check, moment, observed
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params

_MIN_HOPS = 3
"""A TTL that differs by this much or more is of another host; routes change it by one or two."""


class _Reset(NamedTuple):
    """Who reset a connection, and how many publishes had no reply then."""

    direction: DirectionView
    by_server: bool
    unanswered: int

    @property
    def by_middlebox(self) -> bool:
        """Whether the RST did not come from the host that sent the data."""
        return self.direction.flow.cut_hops >= _MIN_HOPS


@connection_check("packet_reordering.connections_reset")
def connections_reset(view: View, params: Params) -> Finding | None:
    """Judge each connection on which its client sent data, so that probes which connect and reset are left out."""
    to_server, to_client = view.directions
    if not to_server.flow.distinct_bytes:
        return None
    for direction in (to_server, to_client):
        if direction.flow.cut_ns:
            unanswered = view.nats.publishing.unanswered if view.nats.gapless else 0
            return _finding(view, _Reset(direction, direction is to_client, unanswered), params)
    return passed(view.subject)


def _finding(view: View, cut: _Reset, params: Params) -> Finding:
    flow = cut.direction.flow
    is_notable = (
        cut.by_middlebox or cut.unanswered >= params.integer("warn") or (cut.by_server and not view.nats.errors)
    )
    return failed(
        view.subject,
        f"{cut.direction.sender} reset the connection (RST) while it was in use{''.join(_parts(view, cut))}{view.who}",
        *observed(
            view,
            sent_by=cut.direction.sender,
            unanswered_publishes=cut.unanswered,
            ttl_differs_by=flow.cut_hops,
            bytes_to_server=view.directions[0].flow.distinct_bytes,
            bytes_to_client=view.directions[1].flow.distinct_bytes,
        ),
        severity=None if is_notable else Severity.INFO,
        measured=(cut.unanswered, params.integer("warn"), "count"),
        between=(moment(flow.cut_ns), moment(flow.cut_ns)),
    )


def _parts(view: View, cut: _Reset) -> Iterator[str]:
    if cut.unanswered:
        noun = "publish" if cut.unanswered == 1 else "publishes"
        yield f"; {cut.unanswered:,} {noun} to JetStream had no reply yet"
    if cut.by_middlebox:
        hops = cut.direction.flow.cut_hops
        yield f"; its TTL differs by {hops} from that of the data: a device between the two sent it"
    elif cut.by_server:
        stated = f"after -ERR '{view.nats.errors[-1].text}'" if view.nats.errors else "without a message"
        yield f"; {stated}: it was stopped, or closed the connection while more was coming in"
    else:
        yield "; programs that exit, or close without reading what has arrived, do so"
