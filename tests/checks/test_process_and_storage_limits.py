"""JSD802, JSD812, JSD829, JSD830 and JSD847: limits of processes, of storage, of time and of subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.checks.server_health.certificate_expiring import certificate_expiring
from jsdoctor.checks.server_health.limits import of_account, of_server
from jsdoctor.checks.server_health.process_limits import open_files_near_limit, processor_limit_reached
from jsdoctor.checks.server_health.subscriptions_many import subscriptions_many
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity
from jsdoctor.model.host import HostFacts, HostReading, ServerProcess
from jsdoctor.model.server import (
    UNLIMITED,
    Account,
    AccountLimits,
    JetStreamConfig,
    JetStreamStats,
    Server,
    Servers,
    Tier,
)
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, after, by_name, params_of, server


def process(number: int, **more: Any) -> ServerProcess:
    return ServerProcess(name=f"n{number}", pid=number, **more)


def host(*readings: tuple[ServerProcess, ...]) -> HostFacts:
    return HostFacts(tuple(HostReading(host="h", at=NOON, processes=processes) for processes in readings))


def test_each_process_is_judged_by_its_open_files() -> None:
    unread, few, many = (
        process(1),
        process(2, open_files=1, max_open_files=10),
        process(3, open_files=8, max_open_files=10),
    )
    findings = list(open_files_near_limit(host((unread, few, many)), params_of("JSD829")))
    assert by_name(findings) == {"n1": "not_evaluated", "n2": "pass", "n3": "fail"}


def throttled(
    *processes: tuple[int | None, int | None], before: tuple[int, int] = (0, 0), **params: Any
) -> dict[str, str]:
    """Of processes with so many periods, so many of them limited; of n3 no earlier reading is there."""
    last, first = [], []
    for number, (periods, limited) in enumerate(processes, 1):
        counts = {"cpu_periods": periods, "cpu_throttled": limited}
        last.append(process(number, **{name: value for name, value in counts.items() if value is not None}))
        first.append(process(number, cpu_periods=before[0], cpu_throttled=before[1]))
    facts = host(tuple(single for single in first if single.pid != 3), tuple(last))
    return by_name(list(processor_limit_reached(facts, params_of("JSD830", **params))))


def test_each_process_is_judged_by_how_often_its_limit_stopped_it() -> None:
    assert throttled((None, None), (100, None), (100, 50), (100, 10)) == {"n3": "not_evaluated", "n4": "fail"}
    assert throttled((None, 5), (100, 9)) == {"n2": "pass"}
    assert throttled((110, 15), before=(100, 5)) == {"n1": "fail"}
    assert throttled((109, 14), before=(100, 5)) == {"n1": "not_evaluated"}
    assert throttled((0, 0), max_share=0.0) == {"n1": "pass"}


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


def test_limits_of_storage_that_are_none() -> None:
    for limit, reserved, kinds in (
        (10, 3, ["used", "reserved"]),
        (10, UNLIMITED - 1, ["used", "reserved"]),
        (10, UNLIMITED, ["used"]),
        (UNLIMITED, 3, []),
        (0, 3, []),
        (-1, 3, []),
    ):
        stats = JetStreamStats(config=JetStreamConfig(max_storage=limit), reserved_storage=reserved)
        assert [use.kind for use in of_server(stats)] == kinds
        tier = Tier(name="R3", reserved_storage=reserved, limits=AccountLimits(max_storage=limit))
        uses = list(of_account(Account(name="APP", tiers=(tier,), at=NOON)))
        assert [use.kind for use in uses] == kinds
        assert [(use.what, use.path) for use in uses[1:]] == [("file storage of tier R3", "reserved_storage")][
            : len(kinds) - 1
        ]


@pytest.mark.parametrize(
    ("left_s", "severity", "text", "threshold"),
    [
        (0, Severity.CRITICAL, "expired 0s ago (2026-11-21 12:00 UTC)", 0),
        (1, None, "expires in 1s (2026-11-21 12:00 UTC)", 604_800_000_000_000),
        (86_399, None, "expires in 23h59m (2026-11-22 11:59 UTC)", 604_800_000_000_000),
        (86_400, None, "expires in 1 day (2026-11-22 12:00 UTC)", 604_800_000_000_000),
        (604_800, None, "expires in 7 days (2026-11-28 12:00 UTC)", 604_800_000_000_000),
        (604_801, Severity.WARNING, "expires in 7 days (2026-11-28 12:00 UTC)", 2_592_000_000_000_000),
    ],
)
def test_how_long_a_certificate_is_valid(left_s: int, severity: Severity | None, text: str, threshold: int) -> None:
    single = server(varz={"tls_required": True, "tls_cert_not_after": after(seconds=left_s)})
    (finding,) = certificate_expiring(Servers((single,)), params_of("JSD812"))
    assert finding.severity is severity
    assert finding.threshold == threshold
    assert finding.message.startswith(f"its certificate for clients {text}")


def test_the_time_that_servers_give_for_none_is_no_end() -> None:
    single = server(varz={"tls_required": True, "tls_cert_not_after": NOON.replace(year=1)})
    (finding,) = certificate_expiring(Servers((single,)), params_of("JSD812"))
    assert finding.outcome is Outcome.NOT_EVALUATED
