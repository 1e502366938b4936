"""What the rules say of networks that we disturb ourselves: the right trouble, and no other."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.sources.packets.files import read_captures
from tests.lab import Disturbance, Lab, lab_or_skip
from tests.support.packet_cases import only_packets
from tests.support.rule_case import loud
from tests.support.ruleset import run_all

pytestmark = pytest.mark.real
_BLAMED_FOR_LATENESS = {"JSD501"}
_BLAMED_FOR_LOSS = {"JSD502"}


@pytest.fixture(autouse=True)
def _lab() -> None:
    lab_or_skip()


def loud_codes(paths: Sequence[Path]) -> set[str]:
    """Codes of the rules that call something more than information."""
    observer = NatsObserver()
    packets = msgspec.structs.replace(read_captures(paths, lambda _: observer), nats=observer.traffic())
    results = run_all(only_packets(packets)).results
    assert not [result.finding.message for result in results if result.finding.outcome is Outcome.ERROR]
    return {code for code, *_ in loud(results)}


def ends(lab: Lab) -> list[list[Path]]:
    """Each capture alone, and both together."""
    return [[lab.client_capture], [lab.server_capture], [lab.client_capture, lab.server_capture]]


def test_loss_is_called_loss_and_nothing_else(tmp_path: Path) -> None:
    with Lab.open(tmp_path, Disturbance(lost=0.06, delay=5, seed=3)) as lab:
        lab.publish(200)
    for paths in ends(lab):
        codes = loud_codes(paths)
        assert codes >= _BLAMED_FOR_LOSS
        assert not codes & (_BLAMED_FOR_LATENESS | {"JSD201", "JSD202", "JSD209", "JSD506", "JSD107", "JSD903"})


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Disturbance(), set()),
        (Disturbance(delay=15), set()),
        (Disturbance(reordered=0.15, late=(4, 12)), _BLAMED_FOR_LATENESS),
        (Disturbance(duplicated=0.08), _BLAMED_FOR_LATENESS),
        (Disturbance(lost=0.06, reordered=0.15, late=(4, 12)), _BLAMED_FOR_LATENESS | _BLAMED_FOR_LOSS),
    ],
    ids=["clean", "far", "reordered", "doubled", "both"],
)
def test_every_disturbance_has_its_name(tmp_path: Path, plan: Disturbance, expected: set[str], seed: int) -> None:
    with Lab.open(tmp_path, plan.seeded(seed)) as lab:
        lab.publish(1000)
    blamed = _BLAMED_FOR_LATENESS | _BLAMED_FOR_LOSS
    together = set().union(*(loud_codes(paths) & blamed for paths in ends(lab)))
    assert together == expected
    for paths in ends(lab):
        assert not loud_codes(paths) & {"JSD201", "JSD202", "JSD209", "JSD506", "JSD107"}
