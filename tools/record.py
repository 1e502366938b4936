"""Records `fixtures/base`: what healthy clusters answer, idle and busy, on every supported server version.

    python -m tools.record

Run it when the collector asks for something new. The recordings are what rule tests start from.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Sample
from jsdoctor.sources.connect.connection import connect
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from jsdoctor.sources.sampling import gather
from tests.servers import VERSIONS, Cluster
from tests.support.deployment import Traffic, furnish
from tests.support.evidence import FIXTURES, dump_samples

PLAN = CollectionPlan(samples=2, interval_s=2.0, timeout_s=5.0)


async def record(url: str, samples: int = PLAN.samples) -> tuple[Sample, ...]:
    """What a default run, or one with so many samples, collects from that deployment."""
    settings = resolve(ConnectionOptions(server=url), {}, Path("/nonexistent"))
    async with connect(settings) as connection:
        return await gather(connection, (), replace(PLAN, samples=samples))


async def record_all(cluster: Cluster, name: str) -> None:
    """System and account view, idle and busy."""
    target = FIXTURES / "base"
    target.mkdir(parents=True, exist_ok=True)
    await furnish(cluster.url("app"), 3 if len(cluster.names) > 1 else 1)
    # A consumer keeps its push subscriber as long as traffic runs: the idle recording has one bound too.
    for user, suffix in (("sys", ""), ("app", "-account")):
        (target / f"{name}{suffix}.json").write_text(
            dump_samples(await record(cluster.url(user)), f"{name} idle") + "\n"
        )
    async with Traffic(cluster.url("app")):
        await asyncio.sleep(1)
        busy = dump_samples(await record(cluster.url("sys")), f"{name} busy")
        (target / f"{name}-busy.json").write_text(busy + "\n")


def main() -> None:
    """Record every version, one server and three."""
    for version in VERSIONS:
        for nodes, topology in ((1, "one-node"), (3, "three-nodes")):
            with tempfile.TemporaryDirectory() as directory, Cluster.launch(Path(directory), version, nodes) as cluster:
                asyncio.run(record_all(cluster, f"{topology}-{version}"))


if __name__ == "__main__":
    main()
