"""JSD801: which failed health checks are a fault of their server, and what is told of them."""

from jsdoctor.checks.server_health.server_unhealthy import server_unhealthy
from jsdoctor.model.finding import Severity
from jsdoctor.model.server import Health, HealthError, Servers
from tests.checks.values import after, params_of, server


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
