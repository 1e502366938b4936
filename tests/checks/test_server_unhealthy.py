"""JSD801: which failed health checks are a fault of their server, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.checks.server_health.server_unhealthy import server_unhealthy, unhealthy_logged
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence, LogFile, OutageInterval
from jsdoctor.model.server import Health, HealthError, Servers
from tests.checks.values import after, log_time, params_of, server


def test_three_of_the_errors_are_shown() -> None:
    errors = tuple(HealthError(type="JETSTREAM", error=text) for text in "abcd")
    sick = server(varz={"start": after(seconds=-2)}, health=Health(status="unavailable", errors=errors))
    (finding,) = server_unhealthy(Servers((sick,)), None, None, params_of("JSD801"))
    assert [observation.value for observation in finding.evidence] == ["unavailable", "a", "b", "c"]
    assert finding.message == (
        "its health check says unavailable 2s after its start: 4 JETSTREAM: a; b; c; and 1 more;"
        " it may be still recovering, which is a fault from 30s after its start on"
    )
    assert (finding.severity, finding.how_to_get) == (Severity.INFO, "run again 30s after its start")


def test_an_error_that_stays_is_no_part_of_a_start() -> None:
    errors = HealthError(type="JETSTREAM", error="no leader"), HealthError(type="STREAM", error="stream write error: x")
    sick = server(varz={"start": after(seconds=-2)}, health=Health(status="error", errors=errors))
    (finding,) = server_unhealthy(Servers((sick,)), None, None, params_of("JSD801"))
    assert (finding.severity, finding.how_to_get) == (Severity.WARNING, "")
    assert finding.message == (
        "its health check says error 2s after its start: 1 JETSTREAM, 1 STREAM: no leader; stream write error: x"
    )


def interval(reason: str, server_name: str = "n1", **more: Any) -> OutageInterval:
    values: dict[str, Any] = {"count": 5, "log_end": log_time(60)} | more
    return OutageInterval(
        signature="healthcheck-failed",
        logged_by=server_name,
        fields=(("reason", reason),),
        began=log_time(0),
        last=log_time(50),
        **values,
    )


def logged(*intervals: OutageInterval) -> list[Finding]:
    files = (LogFile(path="n1.log", size=1, server_lines=1, levels=("INF",)),)
    return list(unhealthy_logged(LogEvidence(files=files, intervals=intervals)))


@pytest.mark.parametrize(
    ("reason", "severity"),
    [
        ("JetStream stream 'APP > ORDERS' is not current", Severity.WARNING),
        ("JetStream is still recovering meta layer", Severity.WARNING),
        ("consumer 'a' of stream 'b': group node unhealthy", Severity.WARNING),
        ("JetStream not enabled", None),
    ],
)
def test_a_server_that_catches_up_is_a_warning(reason: str, severity: Severity | None) -> None:
    (finding,) = logged(interval(reason))
    assert finding.subject == Subject(kind="server", name="n1")
    assert finding.severity is severity


def test_one_other_reason_is_enough() -> None:
    (finding,) = logged(interval("it is not current"), interval("N errors"), interval('"c"'), interval("d"))
    assert finding.severity is None
    assert finding.message.startswith("its health check failed, it is not current; several errors at once; c: since ")


def test_a_probe_that_names_what_is_not_there_is_no_fault_of_the_server() -> None:
    asked = interval("account 'X' not found on account"), interval("stream name must not be empty")
    assert logged(*asked) == [passed(CLUSTER)]
    (finding,) = logged(*asked, interval("JetStream not enabled", "n2"))
    assert finding.subject == Subject(kind="server", name="n2")
    (both,) = logged(asked[0], interval("JetStream not enabled"))
    assert both.message.startswith("its health check failed, JetStream not enabled: since 2026-11-21 12:00:00Z on n1")
