"""What is said of servers that files declare: no login, no TLS, stores that are gone, starts that fail.

The same of configurations that servers have mounted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jsdoctor.checks.server_health.authentication_not_required import (
    authentication_not_required_declared,
)
from jsdoctor.checks.server_health.start_failed import start_failed_declared
from jsdoctor.checks.server_health.temporary_store import (
    temporary_store,
    temporary_store_declared,
)
from jsdoctor.checks.server_health.unmonitored import unmonitored_declared
from jsdoctor.model.finding import Finding, Outcome, Severity
from jsdoctor.model.manifest import (
    DeclaredServers,
    FilePosition,
    Manifests,
    Mistake,
)
from jsdoctor.model.server import JetStreamConfig, JetStreamStats, Servers
from tests.checks.values import server

PLACE, AUTH, TLS = FilePosition("n.conf"), FilePosition("n.conf", 3), FilePosition("n.conf", 4)
UNSURE = "may come from an included file, a variable or a patch that was not read"
Declared = Callable[[Manifests], Iterator[Finding]]


def servers(
    *, chart: bool = False, unclear: str = "", mistakes: tuple[Mistake, ...] = (), **settings: Any
) -> DeclaredServers:
    return DeclaredServers(
        what="Helm values" if chart else "server configuration",
        place=PLACE,
        settings=settings,
        unclear=frozenset(unclear.split()),
        mistakes=mistakes,
        places={"auth": AUTH, "tls": TLS} if "auth" in settings else {},
    )


def of(declared: Declared, single: DeclaredServers) -> list[Finding]:
    return list(declared(Manifests(servers=(single,))))


def logins(**how: Any) -> Finding:
    (finding,) = of(authentication_not_required_declared, servers(**how))
    return finding


def stores(**how: Any) -> list[Finding]:
    return of(temporary_store_declared, servers(**{"jetstream": True} | how))


def test_servers_that_let_everybody_in() -> None:
    text = (
        "it will require no login: every client that reaches its port may read, publish and delete every stream of that"
    )
    single = logins()
    assert single.message == f"{text} account"
    assert single.evidence == (PLACE.shows("no login is set up"),)
    chart = logins(chart=True)
    assert (
        chart.message == f"{text} account; the chart sets up no logins: put authorization or accounts into config.merge"
    )
    assert chart.evidence == single.evidence
    assert logins(host="localhost").severity is Severity.INFO
    assert logins(auth=False, unclear="auth").evidence == (AUTH.shows("no login is set up"),)
    assert logins(auth=False, chart=True).evidence == (AUTH.shows("no login is set up"),)
    assert logins(unclear="auth").message == f"auth {UNSURE}"


def test_servers_without_tls() -> None:
    finding = logins(auth=True)
    assert finding.severity is Severity.INFO
    assert finding.evidence == (TLS.shows("no tls is set up"),)
    assert logins(auth=True, unclear="tls").message == f"tls {UNSURE}"
    assert logins(auth=True, host="localhost").outcome is Outcome.PASS


def test_accounts_without_limits_that_share_the_servers() -> None:
    finding = logins(auth=True, tls=True, accounts=2, unlimited_accounts=("APP", "SHOP"))
    assert finding.message == (
        "APP, SHOP shares the servers with other accounts and has no JetStream limits: it can use up their storage"
    )
    assert logins(auth=True, tls=True, accounts=1, unlimited_accounts=("APP",)).outcome is Outcome.PASS
    assert logins(auth=True, tls=True, unclear="accounts").message == f"accounts {UNSURE}"
    assert logins(auth=True, tls=True, accounts=1, unclear="accounts").outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("how", "outcomes"),
    [
        ({"jetstream": False}, []),
        ({"max_file_store": 0}, []),
        ({"max_file_store": 1}, ["fail"]),
        ({}, ["fail"]),
        ({"chart": True}, []),
        ({"chart": True, "unclear": "store_dir"}, ["not_evaluated"]),
        ({"chart": True, "store_dir": "/data", "unclear": "persistent"}, ["not_evaluated"]),
        ({"unclear": "store_dir"}, ["not_evaluated"]),
        ({"store_dir": "/data"}, ["pass"]),
        ({"store_dir": "/data", "persistent": False}, ["fail"]),
    ],
)
def test_which_stores_last(how: dict[str, Any], outcomes: list[str]) -> None:
    assert [finding.outcome.value for finding in stores(**how)] == outcomes


def test_servers_without_jetstream_hide_no_other() -> None:
    stats = JetStreamStats(config=JetStreamConfig(store_dir="/tmp/js"))  # noqa: S108
    (finding,) = temporary_store(Servers((server("n0"), server("n1", jetstream=stats))))
    assert finding.outcome is Outcome.FAIL


def test_directories_that_are_gone_after_a_restart() -> None:
    (memory,), (temporary,) = stores(store_dir="/dev/shm/js"), stores(store_dir="/tmp/js")  # noqa: S108
    then = "streams are gone after the next restart of the host or container"
    assert (memory.message, memory.severity) == (f"store_dir /dev/shm/js is in memory: {then}", None)
    assert temporary.message == f"store_dir /tmp/js is for temporary files: {then}"
    assert temporary.severity is Severity.INFO


def test_servers_that_nothing_can_monitor() -> None:
    def monitoring(**how: Any) -> Finding:
        (finding,) = of(unmonitored_declared, servers(**how))
        return finding

    assert monitoring().evidence == (PLACE.shows("monitoring: off"),)
    assert monitoring(unclear="monitoring").message == f"monitoring {UNSURE}"
    assert monitoring(monitoring=False, unclear="monitoring").outcome is Outcome.FAIL
    assert monitoring(monitoring=True, exporter=False).evidence == (PLACE.shows("exporter: off"),)
    assert monitoring(monitoring=True).outcome is Outcome.PASS


def test_mistakes_with_which_no_server_starts() -> None:
    def wrong(*unsure: bool, ignored: bool = True) -> Severity | None:
        mistakes = tuple(Mistake(PLACE, "no", ignored=ignored, unsure=each) for each in unsure)
        (finding,) = of(start_failed_declared, servers(mistakes=mistakes))
        return finding.severity

    assert wrong(False, ignored=False) is Severity.ERROR
    assert wrong(True) is Severity.INFO
    assert wrong(True, False) is Severity.WARNING
