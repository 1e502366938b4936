"""Some of the ninth table on the newest server: a refused stream, a link to the wrong port, a store too small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.outage import failures_of
from tests.servers import VERSIONS
from tests.topologies.deployments_commonest import COMMONEST
from tests.topologies.examined import report_on
from tests.topologies.faults_of_deployments import Broken

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("topologies")]
CHOSEN = (
    "stream_whose_subjects_another_stream_has",
    "site_that_connects_to_the_port_for_clients",
    "server_whose_store_was_made_smaller_than_what_it_has",
)


@pytest.mark.parametrize("version", VERSIONS[-1:])
@pytest.mark.parametrize("broken", [b for b in COMMONEST if b.build.__name__ in CHOSEN], ids=CHOSEN)
def test_the_fault_is_named(tmp_path: Path, version: str, broken: Broken) -> None:
    named = failures_of(report_on(tmp_path, version, broken), broken.code)
    assert [label for label in named if label.startswith(broken.subject)], named
