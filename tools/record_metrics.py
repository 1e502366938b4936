"""Records the replies of a real Prometheus to one check, for tests that run without it: `fixtures/prometheus`.

python -m tools.record_metrics
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import nats

from tests.faults.planting import at_once
from tests.prometheus.replay import recording
from tests.prometheus.stack import of_cluster, prometheus
from tests.servers import DEFAULT_VERSION, Cluster
from tests.support.evidence import FIXTURES
from tests.support.reports import run_check
from tests.support.site import Site

FILE = FIXTURES / "prometheus" / "exporter.json.gz"
_PLANTED = ("JSD401", "JSD403", "JSD408")


async def record(directory: Path) -> None:
    """One server with faults that metrics show and one that they do not."""
    plants = [plant for plant in at_once() if plant.code in _PLANTED and plant.fits(DEFAULT_VERSION, "one-node")]
    with Cluster.launch(directory / "server") as cluster:
        client = await nats.connect(cluster.servers("app"))
        site = Site.of(cluster, DEFAULT_VERSION, client)
        try:
            await asyncio.gather(*(plant.work(site) for plant in plants))
            await asyncio.to_thread(_check, cluster, directory)
        finally:
            await site.rest()
            await client.close()


def _check(cluster: Cluster, directory: Path) -> None:
    with prometheus(of_cluster(cluster), directory) as url, recording(url, FILE) as proxy:
        run_check("--prometheus", proxy, "--prometheus-since", "30s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        asyncio.run(record(Path(made)))
