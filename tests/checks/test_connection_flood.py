"""JSD808 and JSD802: how many connections, and how much storage, are many."""

from typing import Any

from jsdoctor.checks.server_health.jetstream_storage_near_limit import jetstream_storage_near_limit
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.server import JetStreamConfig, JetStreamStats, Server, Servers
from tests.checks.values import params_of, server


def storing(storage: int, *, limit: int = 100, reserved: int = 0) -> Server:
    config = JetStreamConfig(max_storage=limit)
    return server(jetstream=JetStreamStats(config=config, storage=storage, reserved_storage=reserved))


def storage(single: Server, **params: Any) -> list[Finding]:
    return list(jetstream_storage_near_limit(Servers((single,)), None, params_of("JSD802", **params)))


def test_what_is_used_is_measured_before_what_is_reserved() -> None:
    finding = storage(storing(91, reserved=150), warn_fraction=0.9, max_fraction=0.95)[0]
    assert finding.measured == 0.91
    assert finding.threshold == 0.9
    assert finding.severity is Severity.WARNING
    reserved = storage(storing(0, reserved=150), reserved_fraction=0.97)[0]
    assert reserved.threshold == 0.97
