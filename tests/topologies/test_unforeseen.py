"""Some of the eighth table on the newest server: a restored store, crowds, a refused start, a full governor."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from jsdoctor.demo.errors import ServerStartError
from tests.real.outage import failures_of
from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.deployments import single
from tests.topologies.deployments_unforeseen import UNFORESEEN
from tests.topologies.examined import report_on
from tests.topologies.faults_of_deployments import Broken
from tests.topologies.healthy import furnish, loud, of_habits
from tests.topologies.landscape import Landscape, server

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("topologies")]
CHOSEN = ("messages_that_were_restored_from_an_older_copy", "clients_that_are_all_on_one_server")


@pytest.mark.parametrize("version", VERSIONS[-1:])
@pytest.mark.parametrize("broken", [b for b in UNFORESEEN if b.build.__name__ in CHOSEN], ids=CHOSEN)
def test_the_fault_is_named(tmp_path: Path, version: str, broken: Broken) -> None:
    report = report_on(tmp_path, version, broken)
    assert broken.subject in failures_of(report, broken.code), failures_of(report, broken.code)


@pytest.mark.parametrize("version", VERSIONS[-1:])
def test_a_governor_without_a_free_place_is_no_full_stream(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        single(land)
        asyncio.run(furnish(land.url(), 1, of_habits("GOVERNOR_u_builds")))
        code, report = run_check("--isolated", "--server", land.url(user="sys"))
    assert (code, loud(report)) == (0, [])


@pytest.mark.parametrize("version", VERSIONS[-1:])
def test_a_start_that_is_refused_is_named_in_the_log_of_the_process_before(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        single(land)
        log = land.node("n1").log_path
        land.node("n1").stop()
        with contextlib.suppress(ServerStartError):
            land.start("n1", f"{server('n1')}jetstrem: true\n")
        text = log.read_text()
        assert text.index("Server Exiting..") < text.index("nats-server: ")
        refused, report = run_check(f"--logs={log}")
        land.start("n1", server("n1"))
        again, later = run_check(f"--logs={log}", "--select", "JSD817")
    assert (refused, again) == (1, 0)
    (finding,) = (result for result in report["results"] if result["outcome"] == "fail")
    assert (finding["code"], finding["subject"]["name"], finding["severity"]) == ("JSD817", "n1", "error")
    assert 'unknown field "jetstrem"' in finding["message"]
    assert [result["severity"] for result in later["results"] if result["outcome"] == "fail"] == ["info"]
