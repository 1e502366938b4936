"""JSD811: which readings of servers and accounts are high, and the most severe of several."""

from typing import Any

from jsdoctor.checks.server_health.resources_high import account_limits, resources_high
from jsdoctor.model.account_claims import AccountClaims, AccountUse, ClaimedLimits
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Subject, passed
from jsdoctor.model.server import JetStreamStats, Server, Servers
from jsdoctor.model.trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, params_of, server

N1 = Subject(kind="server", name="n1")


def using(name: str = "n1", ha_assets: int = 0, **varz: Any) -> Server:
    return server(name, varz=varz, jetstream=JetStreamStats(ha_assets=ha_assets))


def judged(*readings: Server, clients: tuple[ClientConnection, ...] | None = None, **params: Any) -> Finding:
    listed = Connections((ServerConnections(server="n1", at=NOON, open=clients),))
    trend, servers = ServerTrend((ServerHistory(readings),)), Servers(readings[-1:])
    (finding,) = resources_high(servers, trend, listed, params_of("JSD811", **params))
    return finding


def test_a_server_without_clients_has_no_greedy_one() -> None:
    assert judged(using(max_subscriptions=10), clients=()) == passed(N1)


def use(account: str = "A", name: str = "", conn: int = 0, leaf: int = 0, subs: int = 0, **more: Any) -> AccountUse:
    return AccountUse(
        account=account, name=name, at=NOON, limits=ClaimedLimits(conn, leaf, subs), **{"server": "n1"} | more
    )


def of_accounts(*uses: AccountUse, clients: tuple[ClientConnection, ...] | None = None) -> list[Finding]:
    listed = Connections((ServerConnections(server="n1", at=NOON, open=clients),))
    return list(account_limits(AccountClaims(uses), listed, params_of("JSD811")))


def test_subscriptions_are_unknown_where_connections_were_not_read() -> None:
    outcomes = [
        of_accounts(*uses)[0].outcome
        for uses in (
            [use(subs=1, clients=1)],
            [use(subs=1, clients=0), use(subs=1, server="n2", clients=3)],
            [use(subs=1, clients=0)],
            [use(subs=0, clients=1)],
            [use(subs=-1, clients=1)],
        )
    ]
    unknown = Outcome.NOT_EVALUATED
    assert outcomes == [unknown, unknown, Outcome.PASS, Outcome.PASS, Outcome.PASS]
