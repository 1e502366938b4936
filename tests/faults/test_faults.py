"""Every fault of the tables is found under its code on its subject, and is gone once cured."""

from pathlib import Path

import pytest

from tests.faults.planting import TOPOLOGIES, Fault, Visit, at_once, broken, deployment, lasting, report_on, visit
from tests.servers import DEFAULT_VERSION, VERSIONS
from tests.support.once import once
from tests.support.reports import failures, label

pytestmark = [pytest.mark.real, pytest.mark.every_version, pytest.mark.xdist_group("faults")]
LOUD = {"warning", "error", "critical"}
NIGHTLY = pytest.mark.nightly


def beside(faults: list[Fault], every: bool) -> list[object]:
    """The faults on streams of their own, wherever they fit. `make test` plants those that show at once on three nodes
    of the newest version: all of them fit there, and one node has nothing of its own for them.
    """
    return [
        pytest.param(
            version,
            topology,
            planted,
            id=f"{version}-{topology}-{planted.code}-{planted.work.__name__}",
            marks=() if every and version == DEFAULT_VERSION and TOPOLOGIES[topology] == 3 else NIGHTLY,
        )
        for version in VERSIONS
        for topology in TOPOLOGIES
        for planted in faults
        if planted.fits(version, topology)
    ]


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A visit for each version, topology and table, made when the first of its tests needs it."""

    @once
    def at(version: str, topology: str, table: str) -> Visit:
        chosen = [f for f in lasting() if f.table == table] if table else at_once()
        fitting = [planted for planted in chosen if planted.fits(version, topology)]
        with deployment(tmp_path_factory.mktemp("faults"), version, topology, fitting) as cluster:
            return visit(cluster, version, fitting)

    return at


@pytest.mark.parametrize(("version", "topology", "planted"), beside(at_once(), every=True))
def test_a_fault_is_found_and_gone_after_its_cure(visits, version: str, topology: str, planted: Fault) -> None:  # type: ignore[no-untyped-def]
    seen = visits(version, topology, "")
    severities = failures(seen.sick, planted.subject)
    assert severities.get(planted.code) == planted.severity, severities
    unexpected = {code for code, severity in severities.items() if severity in LOUD} - {planted.code} - planted.also
    assert not unexpected, severities
    if planted.cure:
        assert planted.code not in failures(seen.cured, planted.subject)


@pytest.mark.parametrize(("version", "topology", "planted"), beside(lasting(), every=False))
def test_a_fault_that_lasts_is_found(visits, version: str, topology: str, planted: Fault) -> None:  # type: ignore[no-untyped-def]
    sick = visits(version, topology, planted.table).sick
    assert planted.named(sick), _about(planted, sick)


@pytest.mark.parametrize(
    ("version", "planted"),
    [
        pytest.param(
            version,
            planted,
            id=f"{version}-{planted.code}-{planted.work.__name__}",
            marks=() if planted.always and version == DEFAULT_VERSION else NIGHTLY,
        )
        for version in VERSIONS
        for planted in broken()
        if planted.fits(version)
    ],
)
def test_a_broken_deployment_is_found(tmp_path: Path, version: str, planted: Fault) -> None:
    report = report_on(tmp_path, version, planted)
    assert planted.named(report["results"]), (_about(planted, report["results"]), report["gaps"])


def _about(planted: Fault, results: list[dict[str, object]]) -> str:
    """What is reported of the subject, and by the rule."""
    return "\n".join(
        f"{r['code']} {r['outcome']} {r['severity']} {label(r['subject'])}: {r['message'] or r.get('reason')}"[:240]  # type: ignore[arg-type]
        for r in results
        if r["code"] == planted.code or (planted.subject and label(r["subject"]).startswith(planted.subject))  # type: ignore[arg-type]
    )
