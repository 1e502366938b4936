"""JSD813: which servers flush late, by cluster, and as files declare it."""

from typing import Any

from jsdoctor.checks.server_health.sync_interval import sync_interval_declared
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Manifests
from tests.checks.values import params_of

MINUTE = 60_000_000_000


def declared(*settings: dict[str, Any], **params: Any) -> list[Finding]:
    servers = tuple(
        DeclaredServers(what="server configuration", place=FilePosition(f"{number}.conf"), settings=values)
        for number, values in enumerate(settings)
    )
    rule = params_of("JSD813", **params)
    return list(sync_interval_declared(Manifests(servers=servers), rule))


def test_each_declared_server_is_judged() -> None:
    outcomes = [finding.outcome for finding in declared({}, {"jetstream": True, "sync_interval": 9 * MINUTE})]
    assert outcomes == [Outcome.FAIL]
    outcomes = [finding.outcome for finding in declared({"jetstream": True}, warn_interval="0s")]
    assert outcomes == [Outcome.PASS]
