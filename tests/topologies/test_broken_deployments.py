"""Every deployment of `faults_of_deployments.py`: the declared rule names the declared subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.outage import requested, said
from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.faults_of_deployments import BROKEN, Broken
from tests.topologies.landscape import Landscape

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one.build.__name__)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_broken_deployment_is_named(tmp_path: Path, version: str, one: Broken) -> None:
    with Landscape(tmp_path, version) as land:
        login = one.build(land)
        _, report = run_check("--isolated", "--server", login, *one.options)
        found = {r["code"]: said(report, r["code"]) for r in report["results"] if r["outcome"] == "fail"}
        judged = [
            f"{r['outcome']} {r['subject'].get('name')} {r.get('message') or r.get('reason')}"
            for r in report["results"]
            if r["code"] == one.code
        ]
        assert one.subject in found.get(one.code, {}), (found, judged, requested(report))
