"""Some of the ninth table on the newest server: a refused stream, a link to the wrong port, a store too small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.outage import failures_of
from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.deployments_commonest import COMMONEST
from tests.topologies.faults_of_deployments import Broken
from tests.topologies.landscape import Landscape

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("topologies")]
CHOSEN = (
    "stream_whose_subjects_another_stream_has",
    "site_that_connects_to_the_port_for_clients",
    "server_whose_store_was_made_smaller_than_what_it_has",
)


@pytest.mark.parametrize("version", VERSIONS[-1:])
@pytest.mark.parametrize("broken", [b for b in COMMONEST if b.build.__name__ in CHOSEN], ids=CHOSEN)
def test_the_fault_is_named(tmp_path: Path, version: str, broken: Broken) -> None:
    with Landscape(tmp_path, version) as land:
        login = broken.build(land)
        logs = [f"--logs={path}" for path in tmp_path.glob("*/*.log")] if broken.logs else []
        _, report = run_check("--isolated", "--server", login, *logs, *broken.options)
    named = failures_of(report, broken.code)
    assert [label for label in named if label.startswith(broken.subject)], named
