"""Every fault of `faults.py` beside every other, on a single server and on a cluster: the declared rule names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import nats
import pytest

from tests.real.outage import Json, said
from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.deployments import cluster, single
from tests.topologies.faults import FAULTS, Fault, Table
from tests.topologies.faults_of_applications import APPLICATION_FAULTS
from tests.topologies.faults_of_streams import STREAM_FAULTS
from tests.topologies.faults_reported import REPORTED_FAULTS
from tests.topologies.habits import Place
from tests.topologies.healthy import ended
from tests.topologies.landscape import Landscape

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]
SETTLE_S = 35
"""Past the default `idle_for` of rules that judge activity."""


async def looked_at(land: Landscape, replicas: int, faults: list[Fault], *options: str) -> Json:
    client = await nats.connect(land.url().split(","))
    place = Place(client, replicas)
    try:
        for one in faults:
            await one.furnish(place)
        tasks: list[asyncio.Future[None]] = [asyncio.ensure_future(work(place)) for one in faults for work in one.busy]
        await asyncio.sleep(SETTLE_S)
        _, report = await asyncio.to_thread(run_check, "--isolated", "--server", land.url(), *options)
        failed = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        assert not any(failed), failed
        await ended(tasks)
        return report
    finally:
        await client.close()


TABLES = {"first": FAULTS, "second": STREAM_FAULTS, "applications": APPLICATION_FAULTS, "reported": REPORTED_FAULTS}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("shape", [single, cluster], ids=["single", "cluster"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_fault_is_named(
    tmp_path: Path, version: str, shape: Callable[[Landscape], list[str]], table: Table
) -> None:
    with Landscape(tmp_path, version) as land:
        replicas = len(shape(land))
        faults = [one for one in table if one.fits(version, replicas)]
        report = asyncio.run(looked_at(land, replicas, faults, "--samples", "3", "--interval", "3s"))
    missed = [one for one in faults if one.named(said(report, one.code)) is bool(one.missed)]
    assert not missed, "\n".join(f"{one.code} {one.subject}: {named(report, one.subject)}" for one in missed)


def named(report: Json, subject: str) -> list[str]:
    """What is said of that subject, for the message of a failed test."""
    found = [
        r for r in report["results"] if "/".join(v for k, v in r["subject"].items() if k != "kind" and v) == subject
    ]
    return [f"{r['code']} {r['outcome']} {r['severity']} {r['message'] or r.get('reason')}"[:200] for r in found]
