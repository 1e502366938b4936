"""Compound faults on real clusters: each is one incident, its cause first, and no cause is reported twice.

Of streams and consumers, all lie on one cluster. `beneath` are labels: the rule code and the subject.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.faults.consumer_lag import give_up
from tests.faults.sequence_mismatch import overrun
from tests.faults.stream_limits import keep_publishing
from tests.real.contexts import contexts
from tests.real.incident_reports import LOUD, beneath, causes, every_finding_is_in_one_incident, first_is, shown
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.once import once
from tests.support.outage import lasting, peers_of, wait_until_silent, with_client
from tests.support.reports import run_check
from tests.support.site import Site, Work

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("incidents")]


SECOND_NS = 1_000_000_000
WATCHED = {"io.nats.monitor.enabled": "true"}


@dataclass(frozen=True)
class Fault:
    """A fault of streams and consumers. `subject` is the cause's, joined by slashes; `alike`: how many causes."""

    name: str
    work: Work
    code: str
    subject: str
    beneath: frozenset[str] = frozenset()
    alike: int = 1
    since: tuple[int, int] = (2, 10)

    def fits(self, version: str) -> bool:
        """Whether servers of that version can have it."""
        major, minor = (int(part) for part in version.split(".")[:2])
        return (major, minor) >= self.since


async def dead_worker_fills_its_queue(site: Site) -> None:
    """A push worker is gone; its work queue is full and refuses publishers."""
    await site.stream("F1", subjects=["f1"], retention="workqueue", max_msgs=5, discard="new")
    await site.consumer("F1", "worker", deliver_subject="deliver.f1")
    await site.publish("f1", 5)
    await site.client.request("f1", b"x", timeout=10)


async def slots_taken_beyond_a_threshold(site: Site) -> None:
    """All slots are taken, and the owner's own threshold is passed as well."""
    await site.stream("F2", subjects=["f2"])
    metadata = {**WATCHED, "io.nats.monitor.outstanding-ack-critical": "3"}
    await site.consumer("F2", "worker", max_ack_pending=5, ack_wait=SECOND_NS, metadata=metadata)
    await site.publish("f2", 20)
    await site.fetch("F2", "worker", 5, ack=False)
    await asyncio.sleep(1.2)


async def given_up_in_a_queue(site: Site) -> None:
    """One delivery each: the messages stay in the work queue, and the consumer has given them up."""
    await site.stream("F4", subjects=["f4"], retention="workqueue")
    await site.consumer("F4", "worker", max_deliver=1, ack_wait=SECOND_NS)
    await site.publish("f4", 4)
    await site.fetch("F4", "worker", 4, ack=False)
    await asyncio.sleep(2)
    await site.fetch("F4", "worker", 1, ack=False)  # makes the consumer notice that their time is up


async def full_beyond_a_threshold(site: Site) -> None:
    """A full stream refuses publishers, and its owner's threshold of messages is passed as well."""
    metadata = {**WATCHED, "io.nats.monitor.msgs-critical": "6"}
    await site.stream("F6", subjects=["f6"], max_msgs=5, discard="new", metadata=metadata)
    await site.publish("f6", 5)
    await site.client.request("f6", b"x", timeout=10)


async def twelve_streams_without_a_bound(site: Site) -> None:
    """A bad deploy: the same mistake on many streams."""
    for number in range(12):
        await site.stream(f"F9-{number}", subjects=[f"f9.{number}"], max_age=0, max_bytes=-1)
        await site.publish(f"f9.{number}", 1)


async def overtaken_by_limits(site: Site) -> None:
    """The limits removed what the consumer never got."""
    await overrun(site, "F13")


async def twelve_dead_subscribers(site: Site) -> None:
    """One application with twelve push consumers is down."""
    await site.stream("F15", subjects=["f15"])
    for number in range(12):
        await site.consumer("F15", f"push-{number}", deliver_subject=f"deliver.f15.{number}")
    await site.publish("f15", 5)


async def impatient_and_given_up(site: Site) -> None:
    """A worker that does not acknowledge: messages are delivered twice and given up."""
    await give_up(site, "F17", 2)
    await site.publish("f17", 1)
    await site.fetch("F17", "worker", 1)


async def subscriber_gone_from_a_plain_stream(site: Site) -> None:
    """Nobody reads; publishers go on undisturbed."""
    await site.stream("F18", subjects=["f18"])
    await site.consumer("F18", "push", deliver_subject="deliver.f18")
    await site.publish("f18", 5)
    site.background(keep_publishing(site, "f18"))


async def renamed_subject_in_a_deploy(site: Site) -> None:
    """A deploy renamed the subject of a work queue and left the consumer's filter as it was: the queue fills."""
    await site.stream("F19", subjects=["f19.old"], retention="workqueue", max_msgs=5, discard="new")
    await site.consumer("F19", "worker", filter_subject="f19.old")
    config = (await site.api("STREAM.INFO.F19"))["config"]
    await site.api("STREAM.UPDATE.F19", {**config, "subjects": ["f19.new"]})
    await site.publish("f19.new", 5)
    await site.client.request("f19.new", b"x", timeout=10)


async def paused_in_a_deploy(site: Site) -> None:
    """A deploy paused the worker of a queue and nobody resumed it: the queue is full."""
    await site.stream("F20", subjects=["f20"], retention="workqueue", max_msgs=5, discard="new")
    await site.consumer("F20", "worker", pause_until="2099-01-01T00:00:00Z")
    await site.publish("f20", 5)
    await site.client.request("f20", b"x", timeout=10)


async def release_that_never_acknowledges(site: Site) -> None:
    """A new release of six workers takes messages and does not acknowledge them."""
    await site.stream("F21", subjects=["f21"])
    await site.publish("f21", 20)
    for number in range(6):
        await site.consumer("F21", f"worker-{number}", max_ack_pending=5, ack_wait=SECOND_NS)
    await asyncio.gather(*(site.fetch("F21", f"worker-{number}", 5, ack=False) for number in range(6)))
    await asyncio.sleep(2)


def _fault(
    work: Work, code: str, subject: str, *beneath: str, alike: int = 1, since: tuple[int, int] = (2, 10)
) -> Fault:
    return Fault(work.__name__, work, code, subject, frozenset(beneath), alike, since)


FAULTS = (
    _fault(dead_worker_fills_its_queue, "JSD405", "APP/F1/worker", "JSD603 APP/F1"),
    _fault(slots_taken_beyond_a_threshold, "JSD403", "APP/F2/worker", "JSD415 APP/F2/worker"),
    _fault(given_up_in_a_queue, "JSD604", "APP/F4", "JSD409 APP/F4/worker"),
    _fault(full_beyond_a_threshold, "JSD603", "APP/F6", "JSD608 APP/F6"),
    _fault(twelve_streams_without_a_bound, "JSD601", "APP/F9-0", alike=12),
    # JSD618 is the cause: it stays when the server moves the consumer on, and JSD206 vanishes then.
    _fault(overtaken_by_limits, "JSD618", "APP/F13/slow", "JSD206 APP/F13/slow"),
    _fault(twelve_dead_subscribers, "JSD405", "APP/F15/push-0", alike=12),
    _fault(impatient_and_given_up, "JSD409", "APP/F17/worker"),
    _fault(subscriber_gone_from_a_plain_stream, "JSD405", "APP/F18/push"),
    _fault(renamed_subject_in_a_deploy, "JSD416", "APP/F19/worker", "JSD603 APP/F19"),
    _fault(paused_in_a_deploy, "JSD414", "APP/F20/worker", "JSD603 APP/F20", since=(2, 11)),
    _fault(release_that_never_acknowledges, "JSD403", "APP/F21/worker-0", alike=6),
)


Json = dict[str, Any]


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
    first_is(_report(cluster, "sys"), f"JSD726 {last}", "JSD701", "JSD702")  # it is alone: why, it cannot tell
