"""JSD811: which readings of servers and accounts are high, and the most severe of several."""

from __future__ import annotations

from typing import Any

from jsdoctor.checks.server_health.resources_high import account_limits, resources_high
from jsdoctor.model.account_claims import AccountClaims, AccountUse, ClaimedLimits
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject, passed
from jsdoctor.model.server import JetStreamStats, Server, Servers
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, params_of, server

N1 = Subject(kind="server", name="n1")


def using(name: str = "n1", ha_assets: int = 0, **varz: Any) -> Server:
    return server(name, varz=varz, jetstream=JetStreamStats(ha_assets=ha_assets))


def judged(*readings: Server, clients: tuple[ClientConnection, ...] | None = None, **params: Any) -> Finding:
    listed = Connections((ServerConnections(server="n1", at=NOON, open=clients),))
    trend, servers = ServerTrend((ServerHistory(readings),)), Servers(readings[-1:])
    (finding,) = resources_high(servers, trend, listed, params_of("JSD811", **params))
    return finding


def test_what_is_high_is_high_in_every_sample() -> None:
    busy, idle = using(cpu=790.0, cores=8), using(cpu=10.0, cores=8)
    assert judged(busy, busy).measured == 790 / 800
    full, free = using(mem=95, gomemlimit=100), using(mem=5, gomemlimit=100)
    assert judged(full, full).measured == 0.95
    unread = Server(name="n1", at=NOON, server_id="ID-n1")
    for before, last in ((idle, busy), (unread, busy), (free, full), (unread, full)):
        assert judged(before, last) == passed(N1)
    assert judged(using(mem=95), using(mem=95)) == passed(N1)


def test_the_most_severe_of_several_is_reported_and_what_is_unknown_last() -> None:
    unsure = judged(using(cpu=90.0))
    assert unsure.outcome is Outcome.NOT_EVALUATED
    assert judged(using("n1", 1_000, cpu=90.0)).severity is Severity.INFO
    assert judged(using("n1", 1_000, mem=95, gomemlimit=100)).unit == "ratio"


def test_a_server_without_clients_has_no_greedy_one() -> None:
    assert judged(using(max_subscriptions=10), clients=()) == passed(N1)


def test_a_server_with_more_memory_than_the_mean_of_three() -> None:
    def outliers(*sizes: int) -> list[str]:
        servers = Servers(tuple(using(f"n{number}", mem=size) for number, size in enumerate(sizes, 1)))
        params = params_of("JSD811", memory_outlier=1.0, min_outlier=0)
        return [f.subject.name for f in resources_high(servers, None, None, params) if f.outcome is Outcome.FAIL]

    assert outliers(7, 1, 1) == ["n1"]
    assert outliers(7, 1) == []
    assert outliers(0, 0, 0) == []


def use(account: str = "A", name: str = "", conn: int = 0, leaf: int = 0, subs: int = 0, **more: Any) -> AccountUse:
    return AccountUse(
        account=account, name=name, at=NOON, limits=ClaimedLimits(conn, leaf, subs), **{"server": "n1"} | more
    )


def of_accounts(*uses: AccountUse, clients: tuple[ClientConnection, ...] | None = None) -> list[Finding]:
    listed = Connections((ServerConnections(server="n1", at=NOON, open=clients),))
    return list(account_limits(AccountClaims(uses), listed, params_of("JSD811")))


def test_accounts_are_in_the_order_of_their_keys() -> None:
    assert [finding.subject.name for finding in of_accounts(use("B"), use("A"))] == ["A", "B"]


def test_a_limit_of_one() -> None:
    (finding,) = of_accounts(use(conn=1, clients=1))
    assert finding.severity is Severity.ERROR
    (subscribed,) = of_accounts(
        use(subs=1, clients=1), clients=(ClientConnection(cid=4, account="A", subscriptions=1),)
    )
    assert subscribed.severity is Severity.ERROR
    assert of_accounts(use(conn=0, clients=1)) == [passed(use().subject)]


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


def test_the_connection_with_the_most_subscriptions_counts() -> None:
    nobody = ClientConnection(cid=1, subscriptions=99)
    clients = (
        nobody,
        *(ClientConnection(cid=cid, account="A", subscriptions=n) for cid, n in ((2, 5), (3, 9), (4, 9))),
    )
    (finding,) = of_accounts(use(subs=10, clients=3), clients=clients)
    assert [observation.path for observation in finding.evidence] == ["connections[3].subscriptions"]
    assert of_accounts(use(subs=100, clients=3), clients=clients) == [passed(use().subject)]
    assert of_accounts(use("", subs=100, clients=3), clients=clients) == [passed(use("").subject)]


def test_the_limit_that_is_fullest_is_measured_and_all_are_told() -> None:
    (finding,) = of_accounts(use(conn=10, clients=9, leaf=2, leafs=2))
    assert finding.severity is Severity.ERROR
    assert finding.measured == 1.0
    assert finding.message == (
        "9 of 10 client connections that its JWT allows are in use: at the limit new clients are refused (maximum"
        " account active connections exceeded); 2 of 2 leaf node connections that its JWT allows are in use: new leaf"
        " nodes are refused"
    )
    (other,) = of_accounts(use(conn=100, clients=95, leaf=10, leafs=9))
    assert other.measured == 0.95
