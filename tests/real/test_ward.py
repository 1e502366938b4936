"""Every planted fault is found under its code on its subject, nothing else is said of it, and it is gone once cured."""

from __future__ import annotations

import pytest

from tests.real.ward import PLANTS, TOPOLOGIES, Plant, Visit, failures, visit
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster
from tests.support.once import once

LOUD = {"warning", "error", "critical"}
NIGHTLY = pytest.mark.nightly
"""What `make test` leaves out: it visits the newest version, and three nodes of the oldest."""
CASES = [
    pytest.param(
        version,
        topology,
        plant,
        id=f"{version}-{topology}-{plant.code}-{plant.work.__name__}",
        marks=() if version == DEFAULT_VERSION or (version, TOPOLOGIES[topology]) == (VERSIONS[0], 3) else NIGHTLY,
    )
    for version in VERSIONS
    for topology in TOPOLOGIES
    for plant in PLANTS
    if plant.fits(version, topology)
]

pytestmark = [pytest.mark.real, pytest.mark.every_version, pytest.mark.xdist_group("ward")]


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A visit per version and topology, made when the first of its tests asks. Its servers end with it."""

    @once
    def at(version: str, topology: str) -> Visit:
        with Cluster.launch(tmp_path_factory.mktemp("ward"), version, TOPOLOGIES[topology]) as cluster:
            return visit(cluster, version, topology)

    return at


@pytest.mark.parametrize(("version", "topology", "plant"), CASES)
def test_fault_is_found_and_gone_after_the_fix(ward, version: str, topology: str, plant: Plant) -> None:  # type: ignore[no-untyped-def]
    report = ward(version, topology)
    severities = failures(report.sick, plant.subject)
    assert severities.get(plant.code) == plant.severity, severities
    unexpected = {code for code, severity in severities.items() if severity in LOUD} - {plant.code} - plant.also
    assert not unexpected, severities
    if plant.heal:
        assert plant.code not in failures(report.cured, plant.subject)
