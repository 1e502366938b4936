"""JSD846: a client whose connections end again and again.

From logs: an application that goes on after its client closed the connection for good.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, is_recent
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, not_listed, observed_closings
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span

_BROKEN = {
    "Stale Connection": "the client does not respond to PING, as when its event loop is blocked or something between"
    " drops what it sends",
    "Read Error": "the connection was reset, by the client's host or by something between",
    "Write Error": "the connection was reset, by the client's host or by something between",
    "Duplicate Client ID": "another MQTT client connects with the same client ID, and each closes the other's"
    " connection",
}
"""The server or the network ended it. Slow readers are JSD806's, refused logins JSD809's, limits JSD845's."""
_RESETS = ("Read Error", "Write Error")
_ENDED_ITSELF = "Client Closed"
"""The client closed it in order, or its process ended: the server does not distinguish these."""
_TYPES = ("", "nats")
"""Types of connections that are judged. Of WebSocket and MQTT only `Duplicate Client ID` counts: users come and go."""
_OWN_NAME = "jsdoctor"


class _Closing(msgspec.Struct, frozen=True):
    """A connection that ended, with the server that listed it."""

    server: ServerConnections
    connection: ClientConnection
    start: datetime
    stop: datetime

    @property
    def lived_ns(self) -> int:
        return int((self.stop - self.start).total_seconds() * 1e9)


@check("server_health.connections_brief")
def connections_brief(connections: Connections, params: Params) -> Iterator[Finding]:
    """Judge each client by the lists of all servers together, as it reconnects to any server of its cluster."""
    closings: dict[Subject, list[_Closing]] = defaultdict(list)
    open_now: dict[Subject, int] = defaultdict(int)
    for server in connections.servers:
        for connection in server.open or ():
            open_now[_client(connection)] += 1
        if server.closed is None:
            yield not_listed(server)
            continue
        for closing in _closings(server, params):
            closings[_client(closing.connection)].append(closing)
        yield passed(server.subject)
    every_open_listed = all(server.open is not None for server in connections.servers)
    for client, client_closings in closings.items():
        broken = [closing for closing in client_closings if closing.connection.reason in _BROKEN]
        times = _in_succession(broken)
        if times >= params.integer("often"):
            yield _broken_finding(client, broken, times, (open_now[client] if every_open_listed else None), params)
            continue
        brief = [c for c in client_closings if c.lived_ns < params.integer("short") and _is_late(c, params)]
        times = _in_succession(brief)
        if times >= params.integer("many"):
            yield _brief_finding(client, brief, times, params)


def _closings(server: ServerConnections, params: Params) -> Iterator[_Closing]:
    """The closings to judge, of clients that named their library: load balancers that only open the port do not."""
    for connection in closed_within(server, params.integer("window")):
        if connection.start is None or connection.stop is None or connection.name == _OWN_NAME:
            continue
        counts = connection.reason in _BROKEN or connection.reason == _ENDED_ITSELF
        if connection.reason == "Duplicate Client ID" or (counts and connection.lang and connection.type in _TYPES):
            yield _Closing(server, connection, connection.start, connection.stop)


def _client(connection: ClientConnection) -> Subject:
    """The client of a connection: connections with the same name, or without one the same address, are one client."""
    return Subject(kind="client", account=connection.account, name=connection.name or connection.ip)


def _is_late(closing: _Closing, params: Params) -> bool:
    return (closing.server.at - closing.stop).total_seconds() * 1e9 <= params.integer("lately")


def _in_succession(closings: Sequence[_Closing]) -> int:
    """How many connections followed one another: connections that were lost together count as one."""
    times, last_stop = 0, None
    for closing in sorted(closings, key=lambda each: each.stop):
        if last_stop is None or closing.start >= last_stop:
            times, last_stop = times + 1, closing.stop
    return times


def _broken_finding(
    client: Subject, closings: Sequence[_Closing], times: int, open_now: int | None, params: Params
) -> Finding:
    """A warning if each open client of that name lost its connection `often`, else an info.

    Jobs that end with unread messages reset their connections: resets count only if there are `many` lately.
    """
    often = params.integer("often")
    resets = [closing for closing in closings if closing.connection.reason in _RESETS]
    frequent = _in_succession([closing for closing in resets if _is_late(closing, params)]) >= params.integer("many")
    certain = len(closings) - (0 if frequent else len(resets))
    each = open_now is not None and certain >= often * max(1, open_now)
    reasons = {closing.connection.reason for closing in closings}
    why = "; ".join(f"{reason}: {cause}" for reason, cause in _BROKEN.items() if reason in reasons)
    shared = f", {open_now:,} of that name are open" if open_now is not None and open_now > 1 else ""
    return failed(
        client,
        f"{counted(len(closings), 'connection')} broke within {span(params.integer('window'))}, {times:,} of"
        f" them one after the other{shared} ({why})",
        *_observed(closings),
        severity=None if each else Severity.INFO,
        measured=(times, often, "count"),
    )


def _brief_finding(client: Subject, closings: Sequence[_Closing], times: int, params: Params) -> Finding:
    lives = sorted(closing.lived_ns for closing in closings)
    return failed(
        client,
        f"{counted(len(closings), 'connection')} ended within {span(params.integer('lately'))}, {times:,} of"
        f" them one after the other, half of them after {span(lives[len(lives) // 2])} or less: the application opens"
        " a connection for each task, or it ends and is started again",
        *_observed(closings),
        severity=Severity.INFO,
        measured=(times, params.integer("many"), "count"),
    )


def _observed(closings: Sequence[_Closing]) -> Iterator[Observation]:
    """The observations on these closings, by server."""
    by_server: dict[str, list[_Closing]] = defaultdict(list)
    for closing in closings:
        by_server[closing.server.server].append(closing)
    for listed in by_server.values():
        yield from observed_closings(listed[0].server, [closing.connection for closing in listed])


_CLOSED = ("connection-closed-for-good", "connection-closed-for-good-in-java")
_EFFECT = (
    "a client that has used up its attempts to reconnect closes the connection and does not come back before the"
    " application is started again, unless the application closed it itself"
)


@check("server_health.connections_brief_logged", lines_of="clients")
def connections_brief_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Report uses of closed connections; a warning if they last, as threads of an ending application log some."""
    for burst in bursts(logs, *_CLOSED, subjects=client_of, calm=False):
        lasting = burst.count >= params.integer("closed_often") and _lasts(burst, params.integer("closed_for"))
        severity = None if lasting and is_recent(logs, burst) else Severity.INFO
        yield detailed_finding(burst, "it uses a connection that is closed", _EFFECT, severity)


def _lasts(burst: Burst, for_ns: int) -> bool:
    first, last = burst.first, burst.last
    return first is not None and last is not None and (last.us - first.us) * 1000 >= for_ns
