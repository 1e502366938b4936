"""Clusters that lose servers, leaders and replicas: every state is found, and no run hangs or calls it healthy."""

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError

from tests.diagnosis.run import confirmed, diagnosed
from tests.real.incident_reports import first_is
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.outage import (
    HANG_S,
    SILENCE_NS,
    consumer_peers,
    fill,
    peers_of,
    small_disk,
    wait_until_silent,
    with_client,
)
from tests.support.reports import Json, failures_of, requested, run_check
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("cluster-health")]

Run = tuple[int, Json]


@dataclass
class Downfall:
    """What was said of a cluster of three while it went down and came back. Keys are a phase and a login."""

    owner: str
    second: str
    runs: dict[tuple[str, str], Run] = field(default_factory=dict)


async def _furnish(client: Client, spared: str) -> str:
    """A stream on all servers with a consumer, and one with a single copy, whose owner is returned: not `spared`."""
    bounded = {"max_bytes": 1 << 20}
    await add_stream(client, "ALL", subjects=["all"], num_replicas=3, **bounded)
    await add_consumer(client, "ALL", "worker")
    for _ in range(5):
        await store(client, "all")
    # The meta leader takes the server with the most room, and learns every few seconds what the others have reserved.
    for _ in range(100):
        owner: str = (await add_stream(client, "ONE", subjects=["one"], num_replicas=1, **bounded))["cluster"]["leader"]
        if owner != spared:
            return owner
        await api(client, "STREAM.DELETE.ONE")
        await asyncio.sleep(0.25)
    raise AssertionError(f"a stream with one replica always lands on {spared}")


def _meta(cluster: Cluster, node: str) -> Json:
    meta_cluster: Json = cluster.monitor(node, "/jsz").get("meta_cluster") or {}
    return meta_cluster


def _downfall(cluster: Cluster) -> Downfall:
    """Kill the owner of the single copy, then a second server, bring both back. Look at once and again later."""
    leader = cluster.meta_leader()
    assert leader
    owner = with_client(cluster, lambda client: _furnish(client, leader))
    second = next(name for name in cluster.names if name not in (owner, leader))
    story = Downfall(owner, second)

    def run_checks(phase: str) -> None:
        for user in ("sys", "app"):
            story.runs[phase, user] = run_check("--server", cluster.url(user), timeout_s=HANG_S)

    cluster.kill(owner)
    run_checks("one killed")
    wait_until_silent(lambda: peers_of(cluster, "ALL").get(owner), f"the leader of ALL to miss {owner}")
    wait_until_silent(lambda: _peer(_meta(cluster, leader), owner), f"the meta leader to miss {owner}")
    run_checks("one down")
    cluster.kill(second)
    run_checks("two killed")
    wait_until(lambda: not _meta(cluster, leader).get("leader"), "the meta leader to step down", timeout=60)
    wait_until(lambda: not peers_of(cluster, "ALL"), "the stream's leader to step down", timeout=60)
    run_checks("two down")
    story.runs["two down", "monitor"] = run_check(*_monitors(cluster))
    for name in (owner, second):
        cluster.start(name, wait=False)
    cluster.wait_ready()
    wait_until(
        lambda: len(peers := peers_of(cluster, "ALL")) == 2 and all(peer["current"] for peer in peers.values()),
        "all replicas of ALL to be current",
        timeout=30,
    )
    wait_until(
        lambda: (
            len(peers := consumer_peers(cluster, "ALL", "worker")) == 2
            and all(peer["current"] for peer in peers.values())
        ),
        "all replicas of the consumer to be current",
        timeout=30,
    )
    run_checks("back")
    return story


def _peer(group: Json, name: str) -> Json | None:
    return next((peer for peer in group.get("replicas") or [] if peer["name"] == name), None)


def _monitors(cluster: Cluster) -> list[str]:
    return [word for url in cluster.monitor_urls for word in ("--monitor", url)]


@pytest.fixture(scope="module", params=["2.10.26", "2.15.1"])
def downfall(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Downfall]:
    with Cluster.launch(tmp_path_factory.mktemp("downfall"), request.param, 3) as cluster:
        yield _downfall(cluster)


BROKEN = ("one killed", "one down", "two killed", "two down")


@pytest.mark.parametrize("user", ["sys", "app"])
@pytest.mark.parametrize("phase", BROKEN)
def test_a_broken_cluster_is_never_called_healthy(downfall: Downfall, phase: str, user: str) -> None:
    code, report = downfall.runs[phase, user]
    assert code in (1, 3), report["summary"]
    assert code == 1 or requested(report), report["summary"]


@pytest.mark.parametrize("phase", BROKEN)
def test_dead_servers_are_gaps(downfall: Downfall, phase: str) -> None:
    gap_lines = "\n".join(requested(downfall.runs[phase, "sys"][1]))
    assert downfall.owner in gap_lines or "member" in gap_lines, gap_lines


def test_killed_server_is_found(downfall: Downfall) -> None:
    _, report = downfall.runs["one down", "sys"]
    assert failures_of(report, "JSD703") == {downfall.owner: "warning"}
    assert failures_of(report, "JSD706") == {"cluster": "warning"}
    assert failures_of(report, "JSD701") == failures_of(report, "JSD702") == {}


def test_killed_server_is_found_by_a_plain_account(downfall: Downfall) -> None:
    """A warning, and an error from a minute on, which a busy machine may take until the check."""
    failures = failures_of(downfall.runs["one down", "app"][1], "JSD703")
    assert failures in ({downfall.owner: "warning"}, {downfall.owner: "error"})


def test_single_copy_of_a_killed_server_is_found_by_a_plain_account(downfall: Downfall) -> None:
    code, report = downfall.runs["one down", "app"]
    assert failures_of(report, "JSD702") == {"APP/ONE": "critical"}
    assert code == 1


def test_lost_quorum_is_found(downfall: Downfall) -> None:
    code, report = downfall.runs["two down", "sys"]
    assert code == 1
    assert failures_of(report, "JSD701") == {"cluster": "critical"}
    assert failures_of(report, "JSD702") == {"APP/ALL": "critical"}
    assert "error" in failures_of(report, "JSD801").values()


def test_lost_quorum_is_found_through_monitoring(downfall: Downfall) -> None:
    code, report = downfall.runs["two down", "monitor"]
    assert code == 1
    assert failures_of(report, "JSD701") == {"cluster": "critical"}
    assert failures_of(report, "JSD702") == {"APP/ALL": "critical"}


@pytest.mark.parametrize("user", ["sys", "app"])
def test_nothing_is_left_when_all_are_back(downfall: Downfall, user: str) -> None:
    code, report = downfall.runs["back", user]
    assert {
        c: failures_of(report, c) for c in ("JSD701", "JSD702", "JSD703", "JSD704", "JSD706", "JSD713", "JSD901")
    } == {c: {} for c in ("JSD701", "JSD702", "JSD703", "JSD704", "JSD706", "JSD713", "JSD901")}
    assert requested(report) == []
    assert code == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_two_servers_are_no_quorum(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 2)
    code, report = run_check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD706") == {"cluster": "warning"}
    assert failures_of(report, "JSD701") == failures_of(report, "JSD703") == {}
    assert code == 0


async def _halt(client: Client) -> None:
    """The publish that halts a stream: 2.14 and newer check this header only after the message went to all replicas."""
    for name in ("P713", "HEALTHY"):
        await add_stream(client, name, subjects=[name.lower()], num_replicas=3, max_bytes=1 << 20)
    await store(client, "p713", "m1")
    reply = await client.request("p713", b"x", timeout=5, headers={"Nats-Expected-Last-Msg-Id": "zz"})
    assert b'"err_code":10070' in reply.data, reply.data


@pytest.mark.nightly
def test_halted_stream_is_found(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory("2.15.1", 3)
    with_client(cluster, _halt)
    wait_until(lambda: not peers_of(cluster, "P713"), "the stream to lose its leader", timeout=60)
    code, report = run_check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD713") == {"APP/P713": "critical"}
    assert set(failures_of(report, "JSD801")) == {"n1", "n2", "n3"}
    assert code == 1
    wait_until(lambda: _quiet_ns(cluster, "P713") > SILENCE_NS, "the members to be silent for ten seconds", timeout=30)
    _, report = run_check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD702") == {"APP/P713": "critical"}
    first_is(report, "JSD713 APP/P713", "JSD801")
    assert failures_of(run_check("--server", cluster.url("app"))[1], "JSD702") == {"APP/P713": "critical"}
    there = ("-s", cluster.url("sys"), "--stream")
    for symptom in ("publish-not-acknowledged", "stream-offline", "healthcheck-failing"):
        assert list(confirmed(diagnosed(tmp_path, *there, "P713", "--symptom", symptom)[1])) == ["JSD713"], symptom
    _, document = diagnosed(tmp_path, *there, "HEALTHY", "--symptom", "publish-not-acknowledged")
    assert confirmed(document) == {}
    with_client(cluster, lambda client: api(client, "STREAM.DELETE.P713"))
    wait_until(
        lambda: all(_is_healthy(cluster, name) for name in cluster.names), "all servers to be healthy", timeout=60
    )
    code, report = run_check("--server", cluster.url("sys"))
    assert (code, failures_of(report, "JSD713"), failures_of(report, "JSD702"), failures_of(report, "JSD801")) == (
        0,
        {},
        {},
        {},
    )


def _is_healthy(cluster: Cluster, name: str) -> bool:
    return cluster._healthy(name)


def _quiet_ns(cluster: Cluster, stream: str, asked: str = "n1") -> int:
    """For how long no member of a leaderless stream has heard another, by the server that is asked."""
    accounts = cluster.monitor(asked, "/jsz?accounts=true&streams=true")["account_details"]
    peers = [
        peer
        for account in accounts
        for detail in account["stream_detail"]
        if detail["name"] == stream
        for peer in detail["cluster"]["replicas"]
    ]
    return min((peer["active"] for peer in peers if peer["active"]), default=0)


@pytest.mark.parametrize("version", ["2.10.26", "2.12.8"])
def test_wrong_expected_message_id_halts_nothing_before_2_14(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    with_client(cluster, _halt)
    code, report = run_check("--server", cluster.url("sys"))
    assert (code, failures_of(report, "JSD713"), failures_of(report, "JSD702")) == (0, {}, {})


@pytest.mark.nightly
def test_replica_on_a_full_disk_is_found(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """One server of three runs out of disk. Since 2.14 only its replica stops; the others take what is published."""
    with small_disk(tmp_path / "deployment-1" / "n2" / "store", 24):
        cluster = cluster_factory("2.15.1", 3, jetstream="max_memory_store: 64M\n  max_file_store: 2G")

        def is_stuck() -> bool:
            """Its disk is full, and it lacks more than a tenth of all: for a moment every follower may be behind."""
            return not _is_healthy(cluster, "n2") and peers_of(cluster, "FULL").get("n2", {}).get("lag", 0) > 100

        with_client(cluster, lambda client: fill(client, "FULL", "n2", is_stuck))

        def replica_found() -> dict[str, str]:
            """Behind (JSD704), or after ten seconds missing (JSD703); its lag is not seen in every sample."""
            code, report = run_check("--server", cluster.url("sys"))
            if failures_of(report, "JSD713") != {"APP/FULL": "error"}:
                return {}
            assert code == 1
            return {**failures_of(report, "JSD704"), **failures_of(report, "JSD703")}

        severities = wait_until(replica_found, "the replica on the full disk to be found", timeout=60)
        # The meta group may lag on the full disk for a moment, too.
        assert severities["APP/FULL"] in {"warning", "error"}
        wait_until(
            lambda: peers_of(cluster, "FULL").get("n2", {}).get("active", 0) > SILENCE_NS,
            "the leader not to have heard the frozen replica for ten seconds",
            timeout=30,
        )
        _, report = run_check("--server", cluster.url("sys"))
        assert failures_of(report, "JSD703") == {"APP/FULL": "error"}
        cluster.close()


# Servers that list assets as their own and run no Raft group for them


async def _furnish_all(client: Client) -> None:
    await add_stream(client, "ALL", subjects=["all"], num_replicas=3, max_bytes=1 << 20)
    await add_consumer(client, "ALL", "worker")
    for _ in range(5):
        await store(client, "all")


def _streams(cluster: Cluster, node: str) -> dict[str, Json]:
    """What a server shows of the placement of each stream of APP."""
    accounts = cluster.monitor(node, "/jsz?accounts=true&streams=true").get("account_details") or []
    return {s["name"]: s["cluster"] for account in accounts for s in account.get("stream_detail") or []}


def _outcomes(report: Json) -> dict[str, str]:
    """What JSD702 reports of streams: passes are not listed one by one."""
    return {
        result["subject"]["name"]: result["outcome"]
        for result in report["results"]
        if result["code"] == "JSD702" and result["subject"]["kind"] == "stream"
    }


async def _is_refused(url: str, subject: str) -> bool:
    """Whether no server responds to a publish."""
    client = await nats.connect(url)
    try:
        await client.request(subject, b"x", timeout=5)
    except NoRespondersError:
        return True
    finally:
        await client.close()
    return False


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_is_alone_leads_nothing(cluster_factory: ClusterFactory, version: str) -> None:
    """From 2.12 on, the first server to come back names itself as the leader of what it stored."""
    cluster = cluster_factory(version, 3)
    with_client(cluster, _furnish_all)
    for name in cluster.names:
        cluster.stop(name)
    cluster.start("n1", wait=False)
    wait_until(lambda: _streams(cluster, "n1"), "n1 to load the stream", timeout=60)
    is_named = not version.startswith("2.10.")
    assert _streams(cluster, "n1")["ALL"].get("leader", "") == ("n1" if is_named else "")
    assert asyncio.run(_is_refused(cluster.servers()[0], "all"))
    for access in (("--monitor", cluster.node("n1").monitor_url), ("--server", cluster.servers("sys")[0])):
        assert _outcomes(run_check(*access, "--set", "JSD702.settle=10m")[1]) == {
            "ALL": "not_evaluated" if is_named else "fail"
        }
        assert failures_of(run_check(*access, "--set", "JSD702.settle=1s")[1], "JSD702") == {"APP/ALL": "critical"}


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_the_one_replica_on_a_server_that_is_alone(cluster_factory: ClusterFactory, version: str) -> None:
    """2.10 serves it, newer servers do not, and the replies show no difference that counts: never a pass."""
    cluster = cluster_factory(version, 3)
    with_client(cluster, lambda client: add_stream(client, "ONE", subjects=["one"], num_replicas=1))
    owner = next(name for name in cluster.names if "ONE" in _streams(cluster, name))
    others = [name for name in cluster.names if name != owner]
    for name in others:
        cluster.stop(name)
    access = ("--monitor", cluster.node(owner).monitor_url)
    wait_until(lambda: not cluster.monitor(owner, "/jsz")["meta_cluster"].get("leader"), "no meta leader", timeout=60)
    # The server had a meta leader until now: it goes on serving the stream.
    url = cluster.servers()[cluster.names.index(owner)]
    assert _outcomes(run_check(*access)[1]) == {}
    assert not asyncio.run(_is_refused(url, "one"))
    cluster.stop(owner)
    cluster.start(owner, wait=False)
    wait_until(lambda: _streams(cluster, owner), "the stream to be loaded", timeout=60)
    assert _outcomes(run_check(*access, "--set", "JSD702.settle=1s")[1]) == {"ONE": "not_evaluated"}
    assert asyncio.run(_is_refused(url, "one")) == (not version.startswith("2.10."))


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["2.12.8", "2.15.1"])
def test_a_group_that_does_not_run_beside_a_meta_leader(cluster_factory: ClusterFactory, version: str) -> None:
    """The directory of the group cannot be read on two of three servers, which report the stream as their own."""
    cluster = cluster_factory(version, 3)
    with_client(cluster, _furnish_all)
    group = _streams(cluster, "n1")["ALL"]["raft_group"]
    for name in cluster.names:
        cluster.stop(name)
    for name in ("n1", "n2"):
        directory = next(cluster.store_dir(name).rglob(f"_js_/{group}"))
        shutil.rmtree(directory)
        directory.write_text("no directory")
    for name in cluster.names:
        cluster.start(name, wait=False)
    wait_until(lambda: "replicas" in _streams(cluster, "n3").get("ALL", {}), "n3 to run the group", timeout=60)
    wait_until(cluster.meta_leader, "a meta leader", timeout=60)
    assert {_streams(cluster, name)["ALL"]["leader"] for name in ("n1", "n2")} == {"n1", "n2"}
    assert _outcomes(run_check("--server", cluster.url("sys"), "--set", "JSD702.settle=0s")[1]) == {
        "ALL": "not_evaluated"
    }


@pytest.mark.nightly
@pytest.mark.parametrize("version", [version for version in VERSIONS if version.startswith("2.15.")])
def test_a_rescued_meta_group_is_no_healthy_one(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    for name in ("n2", "n3"):
        cluster.kill(name)

    async def rescue() -> None:
        client = await nats.connect(cluster.node("n1").url, user="sys", password="sys")
        await client.request("$JS.API.META.RESCUE", b'{"quorum_needed": 1}', timeout=5)
        await client.close()

    wait_until(lambda: not _meta(cluster, "n1").get("leader"), "the meta leader to step down", timeout=60)
    asyncio.run(rescue())
    wait_until(lambda: _meta(cluster, "n1").get("leader") == "n1", "n1 to lead alone", timeout=60)
    _, report = run_check("--server", cluster.url("sys"), timeout_s=HANG_S)
    assert [*failures_of(report, "JSD701").values()] == ["error"], "a leader without a majority would be critical"
