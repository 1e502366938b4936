"""Servers under load or under siege: restarts, stalled readers, floods of requests, connections and logins."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_stream
from tests.support.load import check_during, dial, failed_logins, next_line, stalled_reader
from tests.support.outage import peers_of, with_client
from tests.support.reports import Json, failures_of, run_check

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("server-load")]

ONCE = ("--samples", "1")


def message(report: Json, code: str) -> str:
    """The only failure of one rule."""
    (text,) = [r["message"] for r in report["results"] if r["code"] == code and r["outcome"] == "fail"]
    return str(text)


def monitors(cluster: Cluster) -> list[str]:
    return [word for url in cluster.monitor_urls for word in ("--monitor", url)]


# JSD805


@pytest.mark.parametrize("version", VERSIONS)
def test_restart_between_samples_is_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1)

    def restart() -> None:
        cluster.stop("n1")
        cluster.start("n1")

    _, report = check_during(cluster, restart)
    assert failures_of(report, "JSD805") == {"n1": "warning"}
    _, report = run_check(*monitors(cluster), *ONCE)
    assert failures_of(report, "JSD805") == {}


def test_restart_of_everything_is_reported_where_there_is_older_data(
    cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    cluster = cluster_factory("2.12.8", 1)
    with_client(cluster, lambda client: add_stream(client, "OLDER", subjects=["older"]))
    config = tmp_path / "restart.toml"
    config.write_text('[rules.JSD805]\nrecent_data = "0s"\n')
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE, "--config", str(config))[1], "JSD805") == {}
    cluster.stop("n1")
    cluster.start("n1")
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE, "--config", str(config))[1], "JSD805") == {
        "n1": "info"
    }


# JSD806

SHORT_PATIENCE = 'write_deadline: "1s"\nmax_pending: 1MB\n'


def _overwhelm(cluster: Cluster, name: str) -> None:
    """Send a reader that stalls more than the server keeps for it, and wait until it is cut off."""

    async def publish(client: Client) -> None:
        for number in range(60):
            await client.publish("flood", b"x" * 100_000)
            if number % 10 == 0:
                await client.flush(timeout=20)
        await client.flush(timeout=20)

    before = cluster.monitor("n1", "/varz")["slow_consumers"]
    with stalled_reader(cluster, "flood", name):
        with_client(cluster, publish)
        wait_until(lambda: cluster.monitor("n1", "/varz")["slow_consumers"] > before, "the reader to be cut off")


@pytest.mark.parametrize("version", VERSIONS)
def test_stalled_reader_is_found_and_named(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = cluster_factory(version, 1, extra_config=SHORT_PATIENCE)
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE)[1], "JSD806") == {}
    _overwhelm(cluster, "sleeper")
    code, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD806") == {"n1": "warning"}
    assert "APP/sleeper" in message(report, "JSD806")
    assert "Pending Bytes" in message(report, "JSD806") or "Write Deadline" in message(report, "JSD806")
    assert code == 0
    later = tmp_path / "later.toml"
    later.write_text('[rules.JSD806]\nrecent = "1ms"\n')
    _, report = run_check("--server", cluster.url("sys"), *ONCE, "--config", str(later))
    assert failures_of(report, "JSD806") == {"n1": "info"}, "the count stays until the next start"
    cluster.stop("n1")
    cluster.start("n1")
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE)[1], "JSD806") == {}


# JSD809


@pytest.mark.parametrize("version", VERSIONS)
def test_tokens_of_failed_logins_are_not_reported(cluster_factory: ClusterFactory, version: str) -> None:
    """Up to 2.11.1 the list of closed connections has the token in the place of the user."""
    cluster = cluster_factory(version, 1)
    failed_logins(cluster, [{"auth_token": "t0p-s3cret", "verbose": False}] * 22)
    _, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD809") == {"n1": "warning"}
    assert "s3cret" not in str(report)


def test_health_check_of_the_wrong_kind_is_distinguished_from_a_client(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory("2.15.1", 1)
    for _ in range(22):
        with dial(cluster, None) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\nHost: nats\r\n\r\n")
            assert "Authorization Violation" in next_line(raw)
    _, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD809") == {"n1": "warning"}
    assert "health check of the wrong kind" in message(report, "JSD809")


# JSD707


@pytest.mark.parametrize("version", VERSIONS)
def test_leader_without_a_majority_is_found_by_its_backlog(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    with_client(
        cluster, lambda client: add_stream(client, "P707", subjects=["p707"], num_replicas=3, max_bytes=64 << 20)
    )
    reports = (_sample_without_a_majority(cluster) for _ in range(4))
    report = next((report for report in reports if report), None)
    assert report, "the leader always stepped down before it was looked at: this machine is too slow"
    assert failures_of(report, "JSD707")["APP/P707"] == "warning"
    wait_until(lambda: all(_uncommitted(cluster, name) == 0 for name in cluster.names), "the backlog to be gone")
    assert failures_of(run_check("--server", cluster.url("sys"), "--interval", "500ms")[1], "JSD707") == {}


def _sample_without_a_majority(cluster: Cluster) -> Json | None:
    """Freeze both followers while messages come in: the leader writes them down, and nobody confirms.

    None when it stepped down meanwhile, which it does after ten seconds at most.
    """
    wait_until(lambda: len(peers_of(cluster, "P707")) == 2, "the stream to have a leader")
    (leader,) = (name for name in cluster.names if name not in peers_of(cluster, "P707"))
    others = [name for name in cluster.names if name != leader]

    async def publish(client: Client) -> None:
        """One by one: the leader makes one entry of what comes at once."""
        for _ in range(400):
            await client.publish("p707", b"x")
            await client.flush(timeout=20)

    for name in others:
        cluster.pause(name)
    try:
        _at(cluster, leader, publish)
        words = ("--monitor", cluster.node(leader).monitor_url, "--interval", "300ms", "--select", "JSD707")
        _, report = run_check(*words)
        led = _uncommitted(cluster, leader) > 0
    finally:
        for name in others:
            cluster.resume(name)
        cluster.wait_ready()
    return report if led else None


def _at(cluster: Cluster, node: str, work: Callable[[Client], Awaitable[None]]) -> None:
    """Do `work` with a client of that server."""

    async def run() -> None:
        client = await nats.connect(cluster.node(node).url.replace("nats://", "nats://app:app@"))
        try:
            await work(client)
        finally:
            await client.close()

    asyncio.run(run())


def _uncommitted(cluster: Cluster, name: str) -> int:
    """What the leader of a group lacks a majority for, the most of all groups that this server leads."""
    groups = (cluster.monitor(name, "/raftz?acc=APP") or {}).get("APP", {}).values()
    return max((g["pindex"] - g["committed"] for g in groups if g["state"] == "LEADER"), default=0)
