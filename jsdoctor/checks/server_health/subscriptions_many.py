"""JSD847: a connection with thousands of subscriptions: an application that does not end those it made."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import name_of
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Subject, failed, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.trend import ServerHistory, ServerTrend
from jsdoctor.model.wording import counted


@check("server_health.subscriptions_many")
def subscriptions_many(connections: Connections, trend: ServerTrend | None, params: Params) -> Iterator[Finding]:
    """One finding for each client, on its connection with most subscriptions, all of which the whole cluster stores."""
    histories = {history.last.name: history for history in (trend.servers if trend else ())}
    largest: dict[Subject, tuple[ClientConnection, ServerConnections]] = {}
    for server in connections.servers:
        if server.open is None:
            yield unknown(server.subject, "its open connections were not listed", "see the gaps of this run")
            continue
        many = [each for each in server.open if each.subscriptions >= params.integer("many")]
        if not many:
            yield passed(server.subject)
        for connection in many:
            client = Subject(kind="client", account=connection.account, name=connection.name or connection.ip)
            if client not in largest or largest[client][0].subscriptions < connection.subscriptions:
                largest[client] = connection, server
    for client, (connection, server) in largest.items():
        yield failed(
            client,
            f"{name_of(connection)} has {counted(connection.subscriptions, 'subscription')}"
            f"{_growth(histories.get(server.server))}: an application that subscribes for each request and does not"
            " unsubscribe fills the memory of every server",
            server.observed(f"connz[cid {connection.cid}].subscriptions", connection.subscriptions),
            server.observed(f"connz[cid {connection.cid}].start", connection.start),
            measured=(connection.subscriptions, params.integer("many"), "count"),
        )


def _growth(history: ServerHistory | None) -> str:
    """How fast the subscriptions of the whole server grew between the samples, as half a sentence."""
    if history is None or history.restarted or not (history.first.varz and history.last.varz):
        return ""
    rate = (history.last.varz.subscriptions - history.first.varz.subscriptions) / history.elapsed_s
    return f", and those of its server grow by {rate:,.0f} a second" if rate >= 1 else ""
