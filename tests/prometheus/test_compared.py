"""What metrics alone show beside what a live login shows, on real servers with every fault planted."""

from pathlib import Path

import pytest

from tests.prometheus.comparison import compare
from tests.prometheus.scenes import SCENES
from tests.prometheus.stack import EXPORTER, SURVEYOR
from tests.servers import DEFAULT_VERSION

SHOWN = {
    EXPORTER: {"JSD401", "JSD408", "JSD701", "JSD717", "JSD718", "JSD802", "JSD806", "JSD808"},
    SURVEYOR: {"JSD401", "JSD408", "JSD717"},
}
"""Rules whose faults the metrics of each exporter show as a login does (docs/prometheus.md)."""
LEFT_OUT = {(SURVEYOR, "lost-hub")}
"""nats-surveyor has no metrics of leaf nodes."""


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("exporter", SHOWN)
def test_metrics_never_contradict_a_login(tmp_path: Path, exporter: str, scene: str) -> None:
    if (exporter, scene) in LEFT_OUT:
        pytest.skip("nats-surveyor has no metrics of leaf nodes")
    run = compare(tmp_path, scene, DEFAULT_VERSION, exporter)
    assert run.contradictions == []
    assert run.by_login, "nothing was planted"
    assert run.by_metrics >= run.by_login & SHOWN[exporter]
