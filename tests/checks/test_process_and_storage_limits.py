"""JSD802, JSD812, JSD829, JSD830 and JSD847: limits of processes, of storage, of time and of subscriptions."""

from __future__ import annotations

import pytest

from jsdoctor.checks.server_health.subscriptions_many import subscriptions_many
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding
from jsdoctor.model.server import (
    Server,
)
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, after, by_name, params_of, server


def connections(server_name: str, *held: int, name: str = "shop", listed: bool = True) -> ServerConnections:
    clients = tuple(ClientConnection(cid=cid, name=name, subscriptions=count) for cid, count in enumerate(held, 1))
    return ServerConnections(server=server_name, at=NOON, open=clients if listed else None)


def subscribed(*listed: ServerConnections, trend: ServerTrend | None = None) -> list[Finding]:
    return list(subscriptions_many(Connections(listed), trend, params_of("JSD847")))


def test_of_each_client_the_connection_with_the_most_subscriptions_is_told() -> None:
    unread, first, other = (
        connections("n1", listed=False),
        connections("n2", 6_000, 7_000, 7_000, 10),
        connections("n3", 3),
    )
    findings = subscribed(unread, first, other)
    assert by_name(findings) == {"n1": "not_evaluated", "n3": "pass", "shop": "fail"}
    assert findings[0].how_to_get == "see the gaps of this run"
    assert findings[-1].evidence[0].path == "connz[cid 2].subscriptions"


@pytest.mark.parametrize(
    ("grown", "text"),
    [(10, ", and those of its server grow by 1 a second: "), (9, " subscriptions: "), (15, "2 a second: ")],
)
def test_how_fast_subscriptions_grow(grown: int, text: str) -> None:
    readings = (
        server(at=NOON, varz={"subscriptions": 5}),
        server(at=after(seconds=10), varz={"subscriptions": 5 + grown}),
    )
    (finding,) = subscribed(connections("n1", 9_000), trend=ServerTrend((ServerHistory(readings),)))
    assert f"{text}an application" in finding.message
    unread = Server(name="n1", at=NOON, server_id="ID-n1"), readings[1]
    (unknown,) = subscribed(connections("n1", 9_000), trend=ServerTrend((ServerHistory(unread),)))
    assert "9,000 subscriptions: an application" in unknown.message
