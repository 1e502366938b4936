"""Three of the eighth table on the newest server: a restored store, crowded servers, and a governor that is full."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.real.outage import failures_of
from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.deployments import single
from tests.topologies.deployments_unforeseen import UNFORESEEN
from tests.topologies.faults_of_deployments import Broken
from tests.topologies.healthy import furnish, loud, of_habits
from tests.topologies.landscape import Landscape

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("topologies")]
CHOSEN = ("messages_that_were_restored_from_an_older_copy", "clients_that_are_all_on_one_server")


@pytest.mark.parametrize("version", VERSIONS[-1:])
@pytest.mark.parametrize("broken", [b for b in UNFORESEEN if b.build.__name__ in CHOSEN], ids=CHOSEN)
def test_the_fault_is_named(tmp_path: Path, version: str, broken: Broken) -> None:
    with Landscape(tmp_path, version) as land:
        login = broken.build(land)
        logs = [f"--logs={path}" for path in tmp_path.glob("*/*.log")] if broken.logs else []
        _, report = run_check("--isolated", "--server", login, *logs, *broken.options)
    assert broken.subject in failures_of(report, broken.code), failures_of(report, broken.code)


@pytest.mark.parametrize("version", VERSIONS[-1:])
def test_a_governor_without_a_free_place_is_no_full_stream(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        single(land)
        asyncio.run(furnish(land.url(), 1, of_habits("GOVERNOR_u_builds")))
        code, report = run_check("--isolated", "--server", land.url(user="sys"))
    assert (code, loud(report)) == (0, [])
