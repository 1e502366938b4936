"""Connections that were closed lately, and their clients in words, without secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from jsdoctor.model.connections import ClientConnection, ServerConnections
from jsdoctor.model.finding import Finding, Observation, unknown
from jsdoctor.model.release import release
from jsdoctor.model.server import Servers

_NAMED_SINCE = (2, 11, 2)
_MAX_NAMED = 3


def closed_within(listed: ServerConnections, window_ns: int) -> Iterator[ClientConnection]:
    """The connections that were closed within the window, by the server's own clock."""
    window = timedelta(microseconds=window_ns / 1000)
    return (c for c in listed.closed or () if c.stop is not None and listed.at - c.stop <= window)


def not_listed(server: ServerConnections) -> Finding:
    """`unknown` for a server whose closed connections were not listed."""
    return unknown(server.subject, "its closed connections were not listed", "see the gaps of this run")


def observed_closings(server: ServerConnections, closed: Sequence[ClientConnection]) -> tuple[Observation, ...]:
    """The evidence of a finding on these connections, of which there is at least one."""
    return (
        server.observed("connz.closed by reason", most_common(connection.reason for connection in closed)),
        server.observed("connz.closed by address", most_common(connection.ip for connection in closed)),
        server.observed("connz.closed by library", most_common(connection.lang for connection in closed)),
        server.observed("last stop", max(connection.stop for connection in closed if connection.stop)),
    )


def name_of(connection: ClientConnection) -> str:
    """A client by account, name and address, so that an operator finds it; never its login."""
    reported = "/".join(part for part in (connection.account, connection.name) if part)
    address = f"{connection.ip}:{connection.port}" if connection.ip else f"cid {connection.cid:,}"
    return f"{reported} ({address})" if reported else address


def most_common(values: Iterable[str]) -> str:
    """The most frequent values with their counts, such as `10.0.0.7 (40), 10.0.0.9 (3)`."""
    counts = Counter(value for value in values if value)
    named = ", ".join(f"{value} ({count:,})" for value, count in counts.most_common(_MAX_NAMED))
    more = len(counts) - _MAX_NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def may_name_users(servers: Servers | None, name: str) -> bool:
    """Whether user names of that server can be shown: before 2.11.2 the field may contain a token instead."""
    known = servers.servers if servers else ()
    return any(release(server.version) >= _NAMED_SINCE for server in known if server.name == name)
