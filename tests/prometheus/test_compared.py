"""What metrics alone show beside what a live login shows, on real servers with every fault planted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest

from tests.prometheus.stack import prometheus
from tests.real.ward import PLANTS, TOPOLOGIES, Json, Site, run_check
from tests.servers import DEFAULT_VERSION, Cluster

pytestmark = [pytest.mark.real, pytest.mark.nightly]

LOUD = {"warning", "error", "critical"}
SAME = {"JSD401", "JSD408"}
"""Rules whose plants metrics show: docs/prometheus.md."""


@pytest.mark.parametrize("exporter", ["prometheus-nats-exporter", "nats-surveyor"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_metrics_never_contradict_a_login(tmp_path: Path, topology: str, exporter: str) -> None:
    live, metrics = asyncio.run(_both(tmp_path, topology, exporter))
    found, shown = _found(live), _found(metrics)
    assert shown <= found | _again(live), "metrics show what a login does not"
    assert {code for code, _ in shown} >= SAME
    passed = {rule["code"] for rule in metrics["rules"] if rule["outcome"] == "pass"}
    assert not passed & {code for code, _ in found}, "metrics pass what a login finds"
    assert not [one for one in metrics["results"] if one["outcome"] == "error"]


async def _both(directory: Path, topology: str, exporter: str) -> tuple[Json, Json]:
    """Two live looks around the look at the metrics: work goes on in between."""
    plants = [plant for plant in PLANTS if plant.fits(DEFAULT_VERSION, topology)]
    with Cluster.launch(directory / "cluster", DEFAULT_VERSION, TOPOLOGIES[topology], extra_config="\n") as cluster:
        client = await nats.connect(cluster.servers("app"))
        site = Site(cluster, DEFAULT_VERSION, client)
        try:
            await asyncio.gather(*(plant.work(site) for plant in plants))
            with prometheus(cluster, directory, exporter) as url:
                _, live = await asyncio.to_thread(run_check, "--server", cluster.url("sys"), "--interval", "3s")
                _, metrics = await asyncio.to_thread(run_check, "--prometheus", url, "--prometheus-since", "60s")
        finally:
            await site.rest()
            await client.close()
    return live, metrics


def _found(report: Json) -> set[tuple[str, str]]:
    failed = (one for one in report["results"] if one["outcome"] == "fail" and one["severity"] in LOUD)
    return {(one["code"], str(one["subject"])) for one in failed}


def _again(live: Json) -> set[tuple[str, str]]:
    """A consumer whose lag grows in one look may just be far behind in another (JSD401, JSD402)."""
    pair = {"JSD401": "JSD402", "JSD402": "JSD401"}
    return {(pair[code], subject) for code, subject in _found(live) if code in pair}
