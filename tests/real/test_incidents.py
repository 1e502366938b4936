"""Compound faults on real clusters: each is one incident, its cause first, and no cause is reported twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.real.contexts import contexts
from tests.real.incident_faults import FAULTS, Fault
from tests.real.incident_reports import LOUD, beneath, causes, every_finding_is_in_one_incident, first_is, shown
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.once import once
from tests.support.outage import lasting, peers_of, wait_until_silent, with_client
from tests.support.reports import run_check
from tests.support.site import Site

Json = dict[str, Any]

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("incidents")]


# --- faults of streams and consumers, all on one cluster ------------------------------------------------------------


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The report on all faults, by version, made when the first of its tests asks."""

    @once
    def at(version: str) -> Json:
        with Cluster.launch(tmp_path_factory.mktemp("planted"), version, 3) as cluster:
            return asyncio.run(_planted(cluster, version))

    return at


async def _planted(cluster: Cluster, version: str) -> Json:
    client = await nats.connect(cluster.servers("app"))
    site = Site.of(cluster, version, client)
    try:
        await asyncio.gather(*(fault.work(site) for fault in FAULTS if fault.fits(version)))
        _, report = await asyncio.to_thread(run_check, "--server", cluster.url("sys"), "--interval", "3s")
        return report
    finally:
        await site.rest()
        await client.close()


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        pytest.param(
            version,
            fault,
            id=f"{version}-{fault.name}",
            marks=() if version == DEFAULT_VERSION else pytest.mark.nightly,
        )
        for version in VERSIONS
        for fault in FAULTS
        if fault.fits(version)
    ],
)
def test_a_fault_is_one_incident(planted, version: str, fault: Fault) -> None:  # type: ignore[no-untyped-def]
    report = planted(version)
    assert every_finding_is_in_one_incident(report)
    stream = fault.subject.split("/")[1]
    about = [
        i
        for i in report["incidents"]
        if i["severity"] in LOUD and any(stream in label.split("/")[1:2] for label in (*causes(i), *beneath(i)))
    ]
    summary = "\n".join(f"{i['severity']} {causes(i)[:3]} <- {sorted(beneath(i))[:8]}" for i in about)
    [incident] = [i for i in about if f"{fault.code} {fault.subject}" in causes(i)] or [None]
    assert incident is not None, summary
    assert len(about) == 1, f"more than one incident:\n{summary}"
    assert sum(cause.startswith(fault.code) for cause in causes(incident)) >= fault.alike, summary
    assert fault.beneath <= beneath(incident), summary


# --- faults of servers ----------------------------------------------------------------------------------------------


def _furnish(cluster: Cluster) -> str:
    """A replicated stream, a work queue whose worker is dead, and a stream with one copy: returns who holds it."""

    async def work(client: Client) -> str:
        bounds = {"max_bytes": 1 << 20, "max_age": 3_600_000_000_000}
        await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=3, **bounds)
        await add_stream(
            client,
            "JOBS",
            subjects=["jobs"],
            num_replicas=3,
            retention="workqueue",
            max_msgs=3,
            discard="new",
            **bounds,
        )
        await add_consumer(client, "JOBS", "worker", deliver_subject="deliver.jobs")
        for subject in ("orders", "jobs", "jobs", "jobs", "jobs"):
            await client.request(subject, b"x", timeout=10)
        await add_stream(client, "SOLO", subjects=["solo"], num_replicas=1, **bounds)
        info = await api(client, "STREAM.INFO.SOLO")
        return str(info["cluster"]["leader"])

    return str(with_client(cluster, work))


def _settled(cluster: Cluster, away: str) -> None:
    """Until the others lead what is left and have not heard that server for longer than the rule's silence."""
    others = [name for name in cluster.names if name != away]
    wait_until(
        lambda: any(cluster.monitor(n, "/jsz")["meta_cluster"].get("leader") in others for n in others),
        "a meta leader",
        timeout=60,
    )
    wait_until(lambda: peers_of(cluster, "ORDERS", asked=others), "the stream to have a leader", timeout=60)
    wait_until_silent(
        lambda: peers_of(cluster, "ORDERS", asked=others).get(away), f"the leader of ORDERS to miss {away}"
    )


def _report(cluster: Cluster, user: str) -> Json:
    return run_check("--server", cluster.url(user))[1]


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_dead_server(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Expectations on one deployment: each login, both together, a second fault beside it, then no quorum."""
    cluster = cluster_factory(version, 3)
    dead = _furnish(cluster)
    cluster.kill(dead)
    _settled(cluster, dead)
    system = _report(cluster, "sys")
    first_is(system, f"JSD703 {dead}", "JSD901", place=1)  # refused publishers of JOBS come before redundancy
    plain = _report(cluster, "app")
    first_is(plain, f"JSD703 {dead}", "JSD702")
    with contexts(cluster, "sys", "app", at=tmp_path) as words:
        both = run_check(*words)[1]
    first_is(both, f"JSD703 {dead}", "JSD702", "JSD901")
    assert "JSD702 APP/SOLO" in beneath(both["incidents"][0]), shown(both)  # the login of the account names it
    for report in (system, plain, both):
        worker = next(i for i in report["incidents"] if "JSD405 APP/JOBS/worker" in causes(i))
        assert "JSD603 APP/JOBS" in beneath(worker), shown(report)
    second = next(name for name in cluster.names if name != dead)
    last = next(name for name in cluster.names if name not in (dead, second))
    cluster.kill(second)
    wait_until(lambda: not cluster.monitor(last, "/jsz")["meta_cluster"].get("leader"), "no meta leader", timeout=90)
    # A candidate may count the others' silence from its last vote.
    wait_until(
        lasting(lambda: not peers_of(cluster, "ORDERS", asked=[last])), "ten seconds without a leader", timeout=90
    )
    first_is(_report(cluster, "sys"), "JSD701 cluster", "JSD702")


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_frozen_server(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    away = _furnish(cluster)
    cluster.pause(away)
    try:
        _settled(cluster, away)
        first_is(_report(cluster, "sys"), f"JSD703 {away}", "JSD901", place=1)
    finally:
        cluster.resume(away)
