"""Every deployment of the tables of faults: the declared rule names the declared subject.

A subject that ends in `/` is any consumer of that stream. A deployment that nobody can log in to returns the address of
a monitoring port.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.outage import requested, said
from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.deployments_met import MET
from tests.topologies.deployments_reported import REPORTED
from tests.topologies.faults_of_deployments import BROKEN, Broken
from tests.topologies.landscape import Landscape

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]


CASES = [
    pytest.param(
        version,
        one,
        id=f"{version}-{one.build.__name__}",
        marks=pytest.mark.xfail(reason=one.missed, strict=True) if one.missed else (),
    )
    for version in VERSIONS
    for one in (*BROKEN, *REPORTED, *MET)
    if one.fits(version)
]


@pytest.mark.parametrize(("version", "one"), CASES)
def test_the_broken_deployment_is_named(tmp_path: Path, version: str, one: Broken) -> None:
    with Landscape(tmp_path, version) as land:
        login = one.build(land)
        access = "--monitor" if login.startswith("http") else "--server"
        _, report = run_check("--isolated", access, login, *one.options)
        found = {r["code"]: said(report, r["code"]) for r in report["results"] if r["outcome"] == "fail"}
        judged = [
            f"{r['outcome']} {r['subject'].get('name')} {r.get('message') or r.get('reason')}"
            for r in report["results"]
            if r["code"] == one.code
        ]
        named = [label for label in found.get(one.code, {}) if label.startswith(one.subject)]
        assert named, (found, judged, requested(report))
