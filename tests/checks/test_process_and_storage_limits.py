"""JSD802, JSD812, JSD829, JSD830 and JSD847: limits of processes, of storage, of time and of subscriptions."""

from jsdoctor.checks.server_health.subscriptions_many import subscriptions_many
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding
from jsdoctor.model.trend import ServerTrend
from tests.checks.values import NOON, by_name, params_of


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
