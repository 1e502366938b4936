"""What metrics alone show beside what a live login shows, on real servers with every fault planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prometheus.comparison import compare
from tests.prometheus.page import PAGE, page
from tests.prometheus.record import load, wanted
from tests.servers import DEFAULT_VERSION

NEWEST = [run for run in wanted() if run[1] == DEFAULT_VERSION]


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.parametrize(("exporter", "version", "scene"), NEWEST, ids=["-".join(run) for run in NEWEST])
def test_metrics_never_contradict_a_login(tmp_path: Path, exporter: str, version: str, scene: str) -> None:
    """The faults that metrics showed when the runs were recorded are shown again."""
    run = compare(tmp_path, scene, version, exporter)
    assert run.contradictions == ()
    [recorded] = [
        recorded_run
        for recorded_run in load()
        if (recorded_run.exporter, recorded_run.server, recorded_run.scene) == (exporter, version, scene)
    ]
    same = {code for code, record in recorded.rules.items() if record.metrics and record.metrics == record.login}
    assert {code for code, record in run.rules.items() if record.metrics} >= same


def test_every_run_is_recorded_and_none_contradicts() -> None:
    runs = load()
    assert [(run.exporter, run.server, run.scene) for run in runs] == list(wanted())
    assert [contradiction for run in runs for contradiction in run.contradictions] == []


def test_the_page_has_what_was_recorded() -> None:
    assert PAGE.read_text("utf-8") == page(load()), "run: python -m tests.prometheus.page"
