"""Every deployment of the tables of faults: the declared rule names the declared subject.

A subject that ends in `/` is any consumer of that stream.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.outage import failures_of, requested
from tests.servers import VERSIONS
from tests.topologies.deployments_commonest import COMMONEST
from tests.topologies.deployments_everyday import EVERYDAY
from tests.topologies.deployments_met import MET
from tests.topologies.deployments_ordinary import ORDINARY
from tests.topologies.deployments_reported import REPORTED
from tests.topologies.deployments_unforeseen import UNFORESEEN
from tests.topologies.examined import report_on
from tests.topologies.faults_of_deployments import BROKEN, Broken

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]


TABLES = {
    "first": BROKEN,
    "reported": REPORTED,
    "met": MET,
    "ordinary": ORDINARY,
    "everyday": EVERYDAY,
    "unforeseen": UNFORESEEN,
    "commonest": COMMONEST,
}
CASES = [
    pytest.param(
        version,
        broken,
        id=f"{version}-{broken.build.__name__}",
        marks=pytest.mark.xfail(reason=broken.missed, strict=True) if broken.missed else (),
    )
    for version in VERSIONS
    for table in TABLES.values()
    for broken in table
    if broken.fits(version)
]


@pytest.mark.parametrize(("version", "broken"), CASES)
def test_the_broken_deployment_is_named(tmp_path: Path, version: str, broken: Broken) -> None:
    report = report_on(tmp_path, version, broken)
    by_code = {r["code"]: failures_of(report, r["code"]) for r in report["results"] if r["outcome"] == "fail"}
    judged = [
        f"{r['outcome']} {r['subject'].get('name')} {r.get('message') or r.get('reason')}"
        for r in report["results"]
        if r["code"] == broken.code
    ]
    named = [label for label in by_code.get(broken.code, {}) if label.startswith(broken.subject)]
    assert named, (by_code, judged, requested(report))
