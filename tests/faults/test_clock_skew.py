"""Clocks of real servers and of this machine, planted wrong: found, and right to within the bound that is stated."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.clock import Clocks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome
from jsdoctor.replies.assemble import assemble
from tests.clock import ShiftClock
from tests.clock.ntp_server import ntp_server
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.servers.natscli import typed
from tests.sources.looking import take_samples
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.leading import led_by, step_down
from tests.support.reports import Json, failures, run_capture, run_check
from tests.support.ruleset import run_rule

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("clock-skew")]


HOUR_S = 3600
SECOND_NS = 1_000_000_000


async def publish(cluster: Cluster, count: int, **stream: Any) -> None:
    client = await nats.connect(cluster.servers("app"))
    try:
        if stream:
            await add_stream(client, "P108", subjects=["p108"], **stream)
        for _ in range(count):
            await client.request("p108", b"x", timeout=10)
    finally:
        await client.close()


async def messages(cluster: Cluster) -> int:
    client = await nats.connect(cluster.servers("app"))
    try:
        return int((await api(client, "STREAM.INFO.P108"))["state"]["messages"])
    finally:
        await client.close()


def test_message_of_a_clock_that_was_ahead(
    cluster_factory: ClusterFactory, server_version: str, shift_clock: ShiftClock, nats_cli: Path
) -> None:
    """An hour ahead, one message, put right by a restart: expiry is stuck until the message is deleted."""
    cluster = cluster_factory(server_version)
    asyncio.run(publish(cluster, 0, max_age=2 * SECOND_NS, max_bytes=1 << 20))
    shift_clock(cluster.node("n1").pid, HOUR_S)
    asyncio.run(publish(cluster, 1))
    cluster.stop("n1")
    cluster.start("n1")
    asyncio.run(publish(cluster, 2))

    _, report = run_check("--server", cluster.url("sys"), "--interval", "3s")
    assert failures(report, "APP/P108").get("JSD108") == "error"
    # Both samples were taken, three seconds apart, with messages that two seconds should have removed.
    assert asyncio.run(messages(cluster)) == 3

    failure = next(r for r in report["results"] if r["code"] == "JSD108" and r["outcome"] == "fail")
    for command in failure["remedy"]["commands"]:
        typed(nats_cli, command, cluster.url("app"))
    _, cured = run_check("--server", cluster.url("sys"))
    assert "JSD108" not in failures(cured, "APP/P108")
    wait_until(lambda: asyncio.run(messages(cluster)) == 0, "the other messages to expire")


def test_messages_agree_with_the_clock_of_their_server(
    cluster_factory: ClusterFactory, server_version: str, shift_clock: ShiftClock
) -> None:
    """While server and messages share the wrong clock, nothing is dated in that server's future."""
    cluster = cluster_factory(server_version)
    shift_clock(cluster.node("n1").pid, HOUR_S)
    asyncio.run(publish(cluster, 3, max_age=24 * HOUR_S * SECOND_NS, max_bytes=1 << 20))
    _, report = run_check("--server", cluster.url("sys"))
    assert "JSD108" not in failures(report, "APP/P108")


CLOCKS_ONLY = CollectionPlan(samples=1, consumers=False, servers=False, accounts=False, connections=False, links=False)
THIS = "this machine"
ONLY = ("--select", "JSD101,JSD102,JSD103")
OURSELVES = "import runpy, sys; sys.stdin.readline(); sys.argv = ['jsdoctor', *sys.argv[1:]]; "
OURSELVES += "runpy.run_module('jsdoctor', run_name='__main__')"


async def _furnish(cluster: Cluster) -> None:
    """A stream that each server leads, with the default duplicate window of two minutes and waits of half a minute."""
    client = await nats.connect(cluster.servers("app"))
    for name in cluster.names:
        await add_stream(client, f"S{name}", subjects=[f"s.{name}"], num_replicas=len(cluster.names))
        await add_consumer(client, f"S{name}", "worker", ack_wait=30 * SECOND_NS)
        for _ in range(20):
            if (await api(client, f"STREAM.INFO.S{name}"))["cluster"]["leader"] == name:
                break
            await api(client, f"STREAM.LEADER.STEPDOWN.S{name}")
            await asyncio.sleep(0.5)
    await client.close()


@pytest.fixture
def trio(shared_cluster: ClusterFactory, server_version: str, shift_clock: ShiftClock) -> Iterator[Cluster]:
    """Three servers for the tests of this module, whose clocks are put right after each."""
    cluster = shared_cluster(server_version, 3, extra_config="# clocks\n")
    if not cluster.monitor("n1", "/jsz")["streams"]:
        asyncio.run(_furnish(cluster))
    yield cluster
    for name in cluster.names:
        shift_clock(cluster.node(name).pid, 0)


def failed(report: Json, code: str) -> dict[str, Json]:
    """What failed under that rule, by subject."""
    failed = [r for r in report["results"] if r["code"] == code and r["outcome"] == "fail"]
    return {str(result["subject"]["name"]): result for result in failed}


def is_within(result: Json, ahead_s: float) -> bool:
    """Whether the truth is where the finding says that it is."""
    return bool(abs(result["measured"] - ahead_s * SECOND_NS) <= result["uncertainty"])


def check_with_clock(shift_clock: ShiftClock, ahead_s: float, *arguments: str) -> Json:
    """A check by a process of ours whose own clock is wrong."""
    command = [sys.executable, "-c", OURSELVES, "check", "--format", "json", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            shift_clock(process.pid, ahead_s)
            written, _ = process.communicate("go\n", timeout=120)
        finally:
            process.kill()  # a process that hangs fails the test and not the whole run
    report: Json = json.loads(written)
    return report


def test_planted_offsets_are_reported_within_the_bound(trio: Cluster, shift_clock: ShiftClock) -> None:
    url, monitors = trio.url("sys"), [word for url in trio.monitor_urls for word in ("--monitor", url)]
    system, account = ("--server", url), ("--server", trio.url("app"))
    for ahead_s, severity, accesses in (
        (0.25, "info", [system]),
        (-0.25, "info", [system]),
        (5, "warning", [system, account, monitors]),
        (HOUR_S, "critical", [system]),
    ):
        shift_clock(trio.node("n2").pid, ahead_s)
        for access in accesses:
            _, report = run_check(*access, *ONLY)
            between = failed(report, "JSD102")
            assert {name: result["severity"] for name, result in between.items()} == {"n2": severity}, access
            assert is_within(between["n2"], ahead_s), (access, between["n2"])
            ours = failed(report, "JSD101")
            assert ours.keys() == ({THIS} if abs(ahead_s) > 1 else set())
            assert all(is_within(result, ahead_s) and result["severity"] == "info" for result in ours.values())
            assert failed(report, "JSD103") == {}
    shift_clock(trio.node("n2").pid, 0)
    _, report = run_check(*system, *ONLY)
    assert (failed(report, "JSD101"), failed(report, "JSD102")) == ({}, {})


@pytest.mark.parametrize("server_version", VERSIONS)
def test_printed_commands_move_the_leaders_away(trio: Cluster, shift_clock: ShiftClock, nats_cli: Path) -> None:
    """Before its clock is corrected, a server should date no messages. Before 2.11 nobody can say who leads next."""
    shift_clock(trio.node("n3").pid, 5)
    result = failed(run_check("--server", trio.url("sys"), *ONLY)[1], "JSD102")["n3"]
    moves = [command for command in result["remedy"]["commands"] if command.startswith("nats ")]
    assert moves
    for command in moves:
        typed(nats_cli, command, trio.url("app"))
    wait_until(lambda: "n3" not in asyncio.run(_leaders(trio)), "other servers to lead")


async def _leaders(cluster: Cluster) -> set[str]:
    client = await nats.connect(cluster.servers("app"))
    try:
        listed = (await api(client, "STREAM.LIST"))["streams"]
        return {stream["cluster"].get("leader", "n3") for stream in listed}
    finally:
        await client.close()


@pytest.mark.parametrize("server_version", VERSIONS)
def test_who_is_wrong(trio: Cluster, shift_clock: ShiftClock) -> None:
    """A skewed client and a skewed server look alike, until NTP servers are asked."""
    with ntp_server() as first, ntp_server() as other:
        asking = ("--server", trio.url("sys"), "--ntp", first, "--ntp", other, "--samples", "1")
        report = check_with_clock(shift_clock, -5, *asking)
        ours, true = failed(report, "JSD101"), failed(report, "JSD103")
        assert is_within(ours[THIS], 5)
        assert is_within(true[THIS], -5)
        assert true.keys() == {THIS}
        assert true[THIS]["severity"] == "info"
        assert failed(report, "JSD102") == {}
        assert "JetStream uses no client's time" in ours[THIS]["message"]
        assert "no server is affected" in true[THIS]["message"]

        shift_clock(trio.node("n3").pid, -5)
        _, report = run_check(*asking)
        true = failed(report, "JSD103")
        assert {name: result["severity"] for name, result in true.items()} == {"n3": "warning"}
        assert is_within(true["n3"], -5)
        assert is_within(failed(report, "JSD102")["n3"], -5)


@pytest.mark.parametrize("server_version", VERSIONS)
def test_without_ntp_nobody_is_called_right(trio: Cluster) -> None:
    code, report = run_check("--server", trio.url("sys"), "--samples", "1", "--ignore", "JSD103")
    assert code == 0
    _, report = run_check("--server", trio.url("sys"), "--samples", "1")
    (verdict,) = [rule for rule in report["rules"] if rule["code"] == "JSD103"]
    assert verdict["outcome"] == "not_evaluated"
    assert "--ntp HOST" in verdict["how_to_get"]
    assert [gap["requested"] for gap in report["gaps"] if gap["kind"] == "ntp"] == [False]


def test_ntp_that_cannot_be_believed_makes_the_run_inconclusive(shared_cluster: ClusterFactory) -> None:
    cluster = shared_cluster()
    with ntp_server("kiss") as host:
        code, report = run_check("--server", cluster.url("sys"), "--ntp", host, "--select", "JSD1")
    assert code == 3
    (gap,) = [gap for gap in report["gaps"] if gap["kind"] == "ntp" and gap["requested"]]
    assert host in gap["subject"]["name"]
    assert [rule["outcome"] for rule in report["rules"] if rule["code"] == "JSD103"] == ["not_evaluated"]


def test_a_bundle_shows_the_same(cluster_factory: ClusterFactory, shift_clock: ShiftClock, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=3)
    shift_clock(cluster.node("n1").pid, 5)
    with ntp_server() as host:
        bundle = tmp_path / "clocks.zip"
        run_capture(bundle, "--ntp", host, "--server", cluster.url("sys"))
    _, report = run_check("--bundle", str(bundle))
    assert failures(report, "n1").keys() >= {"JSD102", "JSD103"}
    for code in ("JSD102", "JSD103"):
        assert failed(report, code).keys() == {"n1"}
        assert is_within(failed(report, code)["n1"], 5)
    assert is_within(failed(report, "JSD101")[THIS], 5)


def alarms(cluster: Cluster, runs: int) -> list[str]:
    """What is found on clocks that are right, by so many looks while this machine has more to do than it can."""
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        taken = [assemble(take_samples(cluster.url("sys"), plan=CLOCKS_ONLY)) for _ in range(runs)]
    finally:
        for process in burning:
            process.kill()
            process.wait()
    results = [r for evidence in taken for code in ("JSD101", "JSD102") for r in run_rule(code, evidence).results]
    # A reply may come too late for one of them.
    assert sum(len(clocks_in(evidence)) == 3 for evidence in taken) >= runs // 2
    return [f"{r.rule.code} {r.finding.message}" for r in results if r.finding.outcome is not Outcome.NOT_EVALUATED]


def clocks_in(evidence: EvidenceSet) -> list[str]:
    """Whose clock was read."""
    clocks = evidence.get(Clocks)
    return [clock.name for clock in clocks.servers] if isinstance(clocks, Clocks) else []


def test_a_busy_machine_is_no_reason_for_an_alarm(shared_cluster: ClusterFactory) -> None:
    assert alarms(shared_cluster(nodes=3), 8) == []


AHEAD_S = 60
HOUR_NS = 3600 * SECOND_NS


async def publish_as_led(client: Client, count: int) -> None:
    for _ in range(count):
        for _ in range(40):
            try:
                await client.request("p105", b"x", timeout=5)
                break
            except nats.errors.Error:
                await asyncio.sleep(0.1)  # a new leader takes some time until it stores


async def published_by(cluster: Cluster, *names: str) -> None:
    """Five messages of each of these leaders, one after the other."""
    client = await nats.connect(cluster.servers("app"))
    try:
        await add_stream(client, "P105", subjects=["p105"], num_replicas=3, max_age=HOUR_NS, max_bytes=1 << 20)
        for name in names:
            await led_by(client, "P105", [name])
            await publish_as_led(client, 5)
    finally:
        await client.close()


def inversion(report: Json) -> Json | None:
    failed = [r for r in report["results"] if r["code"] == "JSD105" and r["outcome"] == "fail"]
    assert len(failed) <= 1
    return failed[0] if failed else None


@pytest.mark.parametrize("server_version", VERSIONS)
def test_the_lead_went_to_a_server_that_is_behind(
    cluster_factory: ClusterFactory, server_version: str, shift_clock: ShiftClock, nats_cli: Path, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes=3)
    asyncio.run(published_by(cluster, "n1"))
    scan = ("--scan", "P105", "--select", "JSD105")
    code, report = run_check("--server", cluster.url("app"), *scan)
    assert (code, inversion(report)) == (0, None)
    assert [rule["outcome"] for rule in report["rules"]] == ["pass"]

    shift_clock(cluster.node("n2").pid, AHEAD_S)
    asyncio.run(published_by(cluster, "n2", "n3"))
    _, report = run_check("--server", cluster.url("app"), *scan)
    failure = inversion(report)
    assert failure is not None
    assert failure["severity"] == "warning"
    assert failure["subject"]["account"] == "APP"
    assert 0 < failure["measured"] <= AHEAD_S * SECOND_NS
    assert "in 1 place dates go back" in failure["message"]
    assert "message 11 is dated before message 10" in failure["message"]
    assert ("n3 had become leader just before message 11" in failure["message"]) == (
        not server_version.startswith("2.10")
    )
    for command in failure["remedy"]["commands"]:
        typed(nats_cli, command, cluster.url("app"))

    bundle = tmp_path / "dates.zip"
    run_capture(bundle, "--server", cluster.url("app"), "--scan", "P105")
    again = inversion(run_check("--bundle", str(bundle), "--select", "JSD105")[1])
    assert again is not None
    # What is still dated in the future is less by the time in between.
    assert again["message"].split("; 5 messages")[0] == failure["message"].split("; 5 messages")[0]
    assert [again[name] for name in ("measured", "severity")] == [failure[name] for name in ("measured", "severity")]


@pytest.mark.parametrize("server_version", VERSIONS)
def test_changes_of_leader_with_equal_clocks_leave_nothing(
    cluster_factory: ClusterFactory, server_version: str
) -> None:
    """Messages are published all the while that the lead changes."""
    cluster = cluster_factory(server_version, nodes=3)

    async def change() -> None:
        client = await nats.connect(cluster.servers("app"))
        await add_stream(client, "P105", subjects=["p105"], num_replicas=3, max_age=HOUR_NS, max_bytes=8 << 20)
        publishing = [asyncio.create_task(publish_as_led(client, 400)) for _ in range(8)]
        for _ in range(6):
            await asyncio.sleep(0.5)
            await step_down(client, "STREAM.LEADER.STEPDOWN.P105")
        await asyncio.gather(*publishing)
        await client.close()

    asyncio.run(change())
    _, report = run_check("--server", cluster.url("app"), "--scan", "P105", "--select", "JSD105")
    assert [rule["outcome"] for rule in report["rules"]] == ["pass"]


def test_only_the_owner_of_a_stream_can_read_it(shared_cluster: ClusterFactory) -> None:
    cluster = shared_cluster()
    code, report = run_check("--server", cluster.url("sys"), "--scan", "P105", "--select", "JSD105")
    assert code == 3
    (gap,) = [gap for gap in report["gaps"] if gap["kind"] == "scan" and gap["subject"].get("name") == "P105"]
    assert "system account" in gap["reason"]
    assert "--scan P105" in gap["how_to_get"]
    assert [rule["outcome"] for rule in report["rules"]] == ["not_evaluated"]
