"""JSD809: which failed logins count, of whom, and what is shown of them."""

from typing import Any

from jsdoctor.checks.server_health.authentication_failures import login_refused_logged
from jsdoctor.model.finding import Finding
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import Exemplar, LogEvidence, Occurrence, ProcessRun
from tests.checks.values import lines, log_time, params_of


def logged(*occurrences: Occurrence, runs: tuple[ProcessRun, ...] = (), **params: Any) -> Finding:
    logs = LogEvidence(files=(), found=occurrences, runs=runs)
    (finding,) = login_refused_logged(logs, params_of("JSD809", **params))
    return finding


def line(count: int, seconds: float = 0, text: str = "the line", **fields: str) -> Occurrence:
    shown = (Exemplar("n1.log", 7, 700, text, log_time(seconds)),)
    return lines("login-refused", count, seconds=seconds, fields=tuple(fields.items()), exemplars=shown)


def test_of_lines_with_and_without_times_those_with_times_are_counted() -> None:
    undated = Occurrence(
        signature="login-refused", logged_by="n1", count=50, dated=0, zoned=False, histogram=Histogram()
    )
    assert logged(undated).measured == 50
    assert logged(undated, line(6, address="10.0.0.7")).measured == 6


def test_a_token_is_not_shown() -> None:
    text = 'authentication error - Token "s3cret" Token "s3cret"'
    finding = logged(line(6, text=text, address="10.0.0.7"))
    assert [observation.value for observation in finding.evidence] == ["authentication error - Token"]
    other = logged(line(6, text='authentication error - User "shop"', address="10.0.0.7"))
    assert [observation.value for observation in other.evidence] == ['authentication error - User "shop"']
