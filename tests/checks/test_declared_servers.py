"""What is said of servers that files declare: no login, no TLS, stores that are gone, starts that fail.

The same of configurations that servers have mounted.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jsdoctor.checks.server_health.authentication_not_required import authentication_not_required_declared
from jsdoctor.checks.server_health.start_failed import start_failed_declared
from jsdoctor.checks.server_health.temporary_store import temporary_store_declared
from jsdoctor.model.finding import Finding, Outcome, Severity
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Manifests, Mistake

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


def test_servers_without_tls() -> None:
    finding = logins(auth=True)
    assert finding.severity is Severity.INFO
    assert finding.evidence == (TLS.shows("no tls is set up"),)
    assert logins(auth=True, unclear="tls").message == f"tls {UNSURE}"
    assert logins(auth=True, host="localhost").outcome is Outcome.PASS


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


def test_mistakes_with_which_no_server_starts() -> None:
    def wrong(*unsure: bool, ignored: bool = True) -> Severity | None:
        mistakes = tuple(Mistake(PLACE, "no", ignored=ignored, unsure=each) for each in unsure)
        (finding,) = of(start_failed_declared, servers(mistakes=mistakes))
        return finding.severity

    assert wrong(False, ignored=False) is Severity.ERROR
    assert wrong(True) is Severity.INFO
    assert wrong(True, False) is Severity.WARNING
