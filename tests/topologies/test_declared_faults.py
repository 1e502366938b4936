"""Every fault of `faults.py` beside every other, on a single server and on a cluster: the declared rule names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.real.ward import run_check
from tests.servers import VERSIONS
from tests.topologies.deployments import cluster, single
from tests.topologies.faults import FAULTS, Fault
from tests.topologies.faults_commonest import COMMONEST_FAULTS
from tests.topologies.faults_everyday import EVERYDAY_FAULTS
from tests.topologies.faults_met import MET_FAULTS, SERVER_SETTINGS
from tests.topologies.faults_of_applications import APPLICATION_FAULTS
from tests.topologies.faults_of_streams import STREAM_FAULTS
from tests.topologies.faults_ordinary import ORDINARY_FAULTS
from tests.topologies.faults_reported import REPORTED_FAULTS
from tests.topologies.faults_unforeseen import UNFORESEEN_FAULTS
from tests.topologies.habits import Place
from tests.topologies.healthy import ended
from tests.topologies.landscape import Landscape

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]
SETTLE_S = 35
"""Past the default `idle_for` of rules that judge activity."""
OPTIONS = ("--isolated", "--samples", "3", "--interval", "3s")
Result = dict[str, Any]


async def looked_at(land: Landscape, replicas: int, faults: list[Fault], users: tuple[str, ...]) -> list[Result]:
    """What checks with the logins of those users report, at the same time; with the log of the applications, if any."""
    client = await nats.connect(land.url().split(","))
    place = Place(client, replicas)
    try:
        for fault in faults:
            await fault.furnish(place)
        tasks: list[asyncio.Future[None]] = [
            asyncio.ensure_future(work(place)) for fault in faults for work in fault.busy
        ]
        await asyncio.sleep(SETTLE_S)
        options = [*OPTIONS, *(option for fault in faults for option in fault.options)]
        if place.logged:
            log = land.directory / "publisher.log"
            log.write_text("".join(f"{line}\n" for line in place.logged), "utf-8")
            options += ["--logs", str(log)]
        reports = await asyncio.gather(
            *(asyncio.to_thread(run_check, "--server", land.url(user=user), *options) for user in users)
        )
        failed = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        assert not any(failed), failed
        await ended(tasks)
        return [result for _, report in reports for result in report["results"]]
    finally:
        await client.close()


TABLES = {
    "first": FAULTS,
    "second": STREAM_FAULTS,
    "applications": APPLICATION_FAULTS,
    "reported": REPORTED_FAULTS,
    "met": MET_FAULTS,
    "ordinary": ORDINARY_FAULTS,
    "everyday": EVERYDAY_FAULTS,
    "unforeseen": UNFORESEEN_FAULTS,
    "commonest": COMMONEST_FAULTS,
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("shape", [single, cluster], ids=["single", "cluster"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_fault_is_named(tmp_path: Path, version: str, shape: Callable[..., list[str]], name: str) -> None:
    settings = SERVER_SETTINGS if name == "met" else ""
    users = ("sys", "app") if name in ("met", "ordinary", "everyday", "unforeseen", "commonest") else ("app",)
    with Landscape(tmp_path, version) as land:
        replicas = len(shape(land, settings))
        faults = [fault for fault in TABLES[name] if fault.fits(version, replicas)]
        results = asyncio.run(looked_at(land, replicas, faults, users))
    missed = [fault for fault in faults if fault.named(_subjects(results, fault)) is bool(fault.missed)]
    assert not missed, "\n".join(f"{fault.code} {fault.subject}: {_named(results, fault)}" for fault in missed)


def _label(result: Result) -> str:
    subject = result["subject"]
    parts = (subject.get(key) for key in ("account", "stream", "name"))
    return "/".join(part for part in parts if part) or subject["kind"]


def _subjects(results: list[Result], fault: Fault) -> list[str]:
    """Subjects of which the declared rule reports that fault."""
    return [
        _label(result)
        for result in results
        if result["code"] == fault.code and result["outcome"] == "fail" and fault.mentions in result["message"]
    ]


def _named(results: list[Result], fault: Fault) -> list[str]:
    """What is reported of its subject, for the message of a failed test."""
    results_of_fault = [r for r in results if fault.named([_label(r)]) and (fault.subject or r["code"] == fault.code)]
    return [
        f"{r['code']} {r['outcome']} {r['severity']} {r['message'] or r.get('reason')}"[:200] for r in results_of_fault
    ]
