"""JSD808 and JSD802: how many connections, and how much storage, are many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jsdoctor.checks.server_health.connection_flood import connection_flood
from jsdoctor.checks.server_health.jetstream_storage_near_limit import (
    jetstream_storage_near_limit,
    storage_limit_logged,
)
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.server import JetStreamConfig, JetStreamStats, Server, Servers
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, after, lines, params_of, server

N1 = Subject(kind="server", name="n1")


def flood(*readings: Server, closed: int = 0, **params: Any) -> Finding:
    ended = tuple(ClientConnection(ip="10.0.0.7", stop=NOON, reason="Client Closed") for _ in range(closed))
    listed = Connections((ServerConnections(server="n1", at=NOON, closed=ended),))
    trend = ServerTrend((ServerHistory(readings),))
    (finding,) = connection_flood(Servers(readings[-1:]), trend, listed, params_of("JSD808", **params))
    return finding


def counting(seconds: float = 0, total: int = 0, connections: int = 0, limit: int = 0) -> Server:
    varz = {"total_connections": total, "connections": connections, "max_connections": limit}
    return server(at=NOON + timedelta(seconds=seconds), varz=varz)


def test_the_only_connection_that_a_server_takes_is_taken() -> None:
    assert flood(counting(connections=1, limit=1)).severity is Severity.ERROR
    assert flood(counting(connections=1)) == passed(N1)


@pytest.mark.parametrize(("rate", "text"), [(1.0, "1"), (1.5, "2"), (0.9, "0.9")])
def test_how_the_rate_is_told(rate: float, text: str) -> None:
    finding = flood(counting(), counting(10, total=int(rate * 10) + 2), warn_rate=0.1, min_between=1)
    assert finding.message.startswith(f"{text} clients a second connect and leave again: each of them")
    assert finding.measured == rate


def test_clients_are_named_where_ten_of_them_are_listed() -> None:
    ten, nine = (flood(counting(), counting(10, total=5_000), closed=count) for count in (10, 9))
    assert "leave again, from 10.0.0.7 (10): " in ten.message
    assert "leave again: " in nine.message
    assert [observation.value for observation in nine.evidence[:2]] == [5_000, 0]


def test_a_rate_of_two_decimals_is_rounded() -> None:
    assert flood(counting(), counting(100, total=1_265), warn_rate=1).measured == 12.6


def test_without_a_window_or_a_first_reading_nothing_is_known_of_a_rate() -> None:
    assert flood(counting(), closed=50, window="0s", warn_rate=0.5) == passed(N1)
    unread = Server(name="n1", at=after(seconds=-10), server_id="ID-n1")
    assert flood(unread, counting(total=5_000)) == passed(N1)


def storing(storage: int, *, limit: int = 100, reserved: int = 0) -> Server:
    config = JetStreamConfig(max_storage=limit)
    return server(jetstream=JetStreamStats(config=config, storage=storage, reserved_storage=reserved))


def storage(single: Server, **params: Any) -> list[Finding]:
    return list(jetstream_storage_near_limit(Servers((single,)), None, params_of("JSD802", **params)))


def test_a_limit_that_is_reached_refuses_and_one_that_is_near_soon_will() -> None:
    full, near = (storage(storing(used))[0] for used in (100, 99))
    assert ": publishes are refused (error 10023)" in full.message
    assert ": soon publishes will be refused (error 10023)" in near.message


def test_what_is_used_is_measured_before_what_is_reserved() -> None:
    finding = storage(storing(91, reserved=150), warn_fraction=0.9, max_fraction=0.95)[0]
    assert finding.measured == 0.91
    assert finding.threshold == 0.9
    assert finding.severity is Severity.WARNING
    reserved = storage(storing(0, reserved=150), reserved_fraction=0.97)[0]
    assert reserved.threshold == 0.97


def test_accounts_are_asked_for_only_where_a_server_has_jetstream() -> None:
    assert [finding.outcome for finding in storage(storing(0))] == [Outcome.PASS, Outcome.NOT_EVALUATED]
    assert storage(server(jetstream=JetStreamStats(disabled=True))) == []


def test_lines_are_about_the_account_whose_limit_it_is() -> None:
    occurrences = (
        lines("stream-stopped-by-account-limit", 3, fields=(("account", "APP"), ("stream", "ORDERS"))),
        lines("account-limit-reached-in-cluster", 2, fields=(("reason", "full"),)),
    )
    findings = list(storage_limit_logged(LogEvidence(files=(), found=occurrences)))
    assert [finding.subject for finding in findings] == [Subject(kind="account", account="APP"), N1]
