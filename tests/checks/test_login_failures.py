"""JSD809: which failed logins count, of whom, and what is shown of them."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.checks.server_health.authentication_failures import authentication_failures, login_refused_logged
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.log import Exemplar, Histogram, LogEvidence, Occurrence, ProcessRun
from tests.checks.values import NOON, lines, log_time, params_of

N1 = Subject(kind="server", name="n1")


def refused(count: int = 1, reason: str = "Authentication Failure", **more: Any) -> list[ClientConnection]:
    values: dict[str, Any] = {"ip": "10.0.0.7", "stop": NOON, "reason": reason} | more
    return [ClientConnection(**values) for _ in range(count)]


def judged(*closed: ClientConnection, **params: Any) -> Finding:
    listed = Connections((ServerConnections(server="n1", at=NOON, closed=closed),))
    (finding,) = authentication_failures(listed, None, params_of("JSD809", **params))
    return finding


@pytest.mark.parametrize(
    "reason",
    [
        "Authentication Failure",
        "Authentication Timeout",
        "Missing Account",
        "Credentials Revoked",
        "Proxy Not Trusted",
        "Proxy Required",
    ],
)
def test_reasons_of_a_login_that_failed(reason: str) -> None:
    finding = judged(*refused(9, "Authentication Failure", ip="10.0.0.8"), *refused(20, reason))
    assert finding.severity is None
    assert finding.remedy == {"reason": reason}


def test_a_client_that_came_back_with_new_credentials_did_not_fail() -> None:
    assert judged(*refused(30, "Authentication Expired")) == passed(N1)


def test_one_failure_is_enough_where_any_is_asked_for() -> None:
    assert judged(*refused(), min_failures=0).measured == 1
    assert judged(min_failures=0) == passed(N1)


def test_failures_of_an_unknown_address_are_not_taken_for_those_of_one() -> None:
    assert judged(*refused(5, ip=""), max_failures=1).severity is Severity.INFO


def test_a_client_with_a_library_is_no_port_scan() -> None:
    strangers = refused(9)
    assert "as a port scan" in judged(*strangers).message
    for other in (refused(lang="go"), refused(authorized_user="shop")):
        assert "credentials are being guessed" in judged(*strangers, *other).message


def logged(*occurrences: Occurrence, runs: tuple[ProcessRun, ...] = (), **params: Any) -> Finding:
    logs = LogEvidence(files=(), found=occurrences, runs=runs)
    (finding,) = login_refused_logged(logs, params_of("JSD809", **params))
    return finding


def line(count: int, seconds: float = 0, text: str = "the line", **fields: str) -> Occurrence:
    shown = (Exemplar("n1.log", 7, 700, text, log_time(seconds)),)
    return lines("login-refused", count, seconds=seconds, fields=tuple(fields.items()), exemplars=shown)


@pytest.mark.parametrize(
    "reason", ["EOF", "tls: first record does not look like a TLS handshake", "i/o timeout", "read: connection reset"]
)
def test_what_health_checks_leave_of_a_handshake_is_no_login(reason: str) -> None:
    assert logged(line(90, reason=reason)) == passed(CLUSTER)


def test_many_addresses_and_one_user() -> None:
    guesses = [line(4, address=f"10.0.0.{number}", user="admin") for number in range(5)]
    finding = logged(*guesses)
    assert finding.severity is None
    assert finding.measured == 20
    assert finding.subject == N1
    assert logged(*guesses[:4], line(4, address="10.0.0.9", user="shop")).severity is Severity.INFO


def test_of_lines_with_and_without_times_those_with_times_are_counted() -> None:
    undated = Occurrence(
        signature="login-refused", logged_by="n1", count=50, dated=0, zoned=False, histogram=Histogram()
    )
    assert logged(undated).measured == 50
    assert logged(undated, line(6, address="10.0.0.7")).measured == 6


def test_logins_that_fail_while_a_server_starts_count() -> None:
    runs = (ProcessRun(server="n1", started=log_time(0), ready=log_time(0)),)
    finding = logged(line(6, 2, account="APP", address="10.0.0.7"), runs=runs)
    assert finding.subject == N1


def test_a_token_is_not_shown() -> None:
    text = 'authentication error - Token "s3cret" Token "s3cret"'
    finding = logged(line(6, text=text, address="10.0.0.7"))
    assert [observation.value for observation in finding.evidence] == ["authentication error - Token"]
    other = logged(line(6, text='authentication error - User "shop"', address="10.0.0.7"))
    assert [observation.value for observation in other.evidence] == ['authentication error - User "shop"']


def test_five_refusals_that_a_client_logged_are_a_warning() -> None:
    for count, severity in ((5, None), (4, Severity.INFO)):
        finding = logged(lines("client-login-refused", count, logged_by="app"))
        assert finding.subject == Subject(kind="client", name="app")
        assert finding.severity is severity
