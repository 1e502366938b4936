"""Servers that are full, switched off, open to everybody or not healthy: each is found, and what is legal is not."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsdoctor.demo.server import NatsServer
from tests.real.outage import check, failures_of, fill, peers_of, small_disk, with_client
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, server_binary, wait_until
from tests.support.deployment import add_stream, api

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("server-health")]

EVERY_VERSION = pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=() if version == DEFAULT_VERSION else pytest.mark.nightly) for version in VERSIONS],
)


def _publish(stream: str, count: int, size: int, **config: object) -> Callable[[Client], Awaitable[None]]:
    async def work(client: Client) -> None:
        await add_stream(client, stream, subjects=[stream.lower()], **config)
        for _ in range(count):
            await client.request(stream.lower(), b"x" * size, timeout=10)

    return work


@EVERY_VERSION
def test_full_server_is_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, jetstream="max_memory_store: 1MB\n  max_file_store: 4MB")
    with_client(cluster, _publish("P802", 19, 200_000))
    code, report = check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD802") == {"n1": "error"}
    assert failures_of(report, "JSD816") == {}
    assert code == 1
    with_client(cluster, lambda client: api(client, "STREAM.PURGE.P802"))
    code, report = check("--server", cluster.url("sys"))
    assert (code, failures_of(report, "JSD802")) == (0, {})


@EVERY_VERSION
def test_full_memory_and_reservations_are_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, jetstream="max_memory_store: 2MB\n  max_file_store: 4MB")
    with_client(cluster, _publish("P802", 17, 100_000, storage="memory"))
    with_client(cluster, lambda client: add_stream(client, "WIDE", subjects=["wide"], max_bytes=3_500_000))
    _, report = check("--server", cluster.url("sys"))
    failures = [r for r in report["results"] if r["code"] == "JSD802" and r["outcome"] == "fail"]
    assert [(r["subject"]["name"], r["severity"]) for r in failures] == [("n1", "warning")]
    assert "memory are used" in failures[0]["message"]
    assert "file storage are reserved" in failures[0]["message"]


@EVERY_VERSION
@pytest.mark.parametrize("user", ["sys", "app"])
def test_full_account_is_found(cluster_factory: ClusterFactory, version: str, user: str) -> None:
    cluster = cluster_factory(version, 1, app_account="jetstream: {max_file: 1MB, max_mem: 1MB}\n")
    with_client(cluster, _publish("P802", 9, 100_000))
    code, report = check("--server", cluster.url(user))
    assert failures_of(report, "JSD802") == {"APP": "warning"}
    assert code == 0
    with_client(cluster, lambda client: api(client, "STREAM.PURGE.P802"))
    assert failures_of(check("--server", cluster.url(user))[1], "JSD802") == {}


@EVERY_VERSION
def test_limit_below_usage_is_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, jetstream="max_memory_store: 1MB\n  max_file_store: 8MB")
    with_client(cluster, _publish("P816", 20, 200_000))
    assert failures_of(check("--server", cluster.url("sys"))[1], "JSD816") == {}
    _restart_with(cluster, "max_file_store: 8MB", "max_file_store: 2MB")
    code, report = check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD816") == {"n1": "error"}
    assert code == 1
    _restart_with(cluster, "max_file_store: 2MB", "max_file_store: 8MB")
    assert failures_of(check("--server", cluster.url("sys"))[1], "JSD816") == {}


def _restart_with(cluster: Cluster, old: str, new: str) -> None:
    cluster.stop("n1")
    assert old in cluster._configs["n1"]
    cluster._configs["n1"] = cluster._configs["n1"].replace(old, new)
    cluster.start("n1")


@EVERY_VERSION
def test_unset_limit_is_found_where_a_restart_lowers_it(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    """Up to 2.12 the limit after a restart is 75 % of what is left; newer servers count what they store."""
    with small_disk(tmp_path / "deployment-1" / "n1" / "store", 64):
        cluster = cluster_factory(version, 1, jetstream="max_memory_store: 1MB")
        with_client(cluster, _publish("P816", 40, 1_000_000, storage="file"))
        assert failures_of(check("--server", cluster.url("sys"))[1], "JSD816") == {}
        cluster.stop("n1")
        cluster.start("n1")
        _, report = check("--server", cluster.url("sys"))
        lowered = {"n1": "error"} if version < "2.14" else {}
        assert failures_of(report, "JSD816") == lowered
        judged = [r["outcome"] for r in report["results"] if r["code"] == "JSD816"]
        assert judged == (["fail"] if lowered else ["not_evaluated"])
        cluster.close()


@EVERY_VERSION
def test_removed_server_that_still_runs_is_found(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = cluster_factory(version, 3)
    leader = cluster.meta_leader()
    removed = next(name for name in cluster.names if name != leader)
    with_client(cluster, lambda client: api(client, "SERVER.REMOVE", {"peer": removed}), "sys")
    wait_until(lambda: cluster.monitor(removed, "/jsz").get("disabled"), "JetStream to be switched off")
    code, report = check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD803") == {removed: "critical"}
    assert set(failures_of(report, "JSD801")) == {removed}
    assert failures_of(report, "JSD706") == {"cluster": "warning"}
    assert failures_of(report, "JSD703") == {}
    assert code == 1
    # Started again it is healthy, but for some minutes the cluster does not take it back.
    _start_again(cluster, removed)
    patient = tmp_path / "patient.toml"
    patient.write_text('[rules.JSD803]\nstart_up = "0s"\n')
    code, report = check("--server", cluster.url("sys"), "--config", str(patient))
    assert failures_of(report, "JSD803") == {removed: "warning"}
    assert failures_of(report, "JSD801") == {}
    assert (_BY_ITSELF in _outsider(report)) is (version > "2.10.26")


_BY_ITSELF = "the leader adds it again within six minutes of the removal"


def _outsider(report: dict[str, Any]) -> str:
    """What JSD803 says of the server that is no member."""
    (failed,) = (result for result in report["results"] if result["code"] == "JSD803" and result["outcome"] == "fail")
    return str(failed["message"])


def _start_again(cluster: Cluster, name: str) -> None:
    cluster.stop(name)
    cluster.start(name, wait=False)
    wait_until(lambda: cluster._healthy(name), f"{name} to be healthy again", timeout=30)


@pytest.mark.nightly
@pytest.mark.parametrize("version", [version for version in VERSIONS if version > "2.10.26"])
def test_removed_server_is_added_again_within_six_minutes(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    leader = cluster.meta_leader()
    assert leader
    removed = next(name for name in cluster.names if name != leader)
    with_client(cluster, lambda client: api(client, "SERVER.REMOVE", {"peer": removed}), "sys")
    until = time.monotonic() + 360
    wait_until(lambda: cluster.monitor(removed, "/jsz").get("disabled"), "JetStream to be switched off")
    _start_again(cluster, removed)
    time.sleep(31)  # `start_up`
    assert _BY_ITSELF in _outsider(check("--server", cluster.url("sys"))[1])

    def is_member() -> bool:
        return removed in {peer["name"] for peer in cluster.monitor(leader, "/jsz")["meta_cluster"]["replicas"]}

    wait_until(is_member, "the server to be a member", timeout=until - time.monotonic())
    assert failures_of(check("--server", cluster.url("sys"))[1], "JSD803") == {}


@contextmanager
def _without_jetstream(cluster: Cluster) -> Iterator[None]:
    """A fourth server that joins the cluster and has no `jetstream` block."""
    known = cluster._configs["n1"]
    known = known[known.index("cluster {") :]
    config = "server_name: n4\n" + re.sub(r'listen: "127\.0\.0\.1:\d+"', 'listen: "127.0.0.1:-1"', known)
    server = NatsServer.start(cluster._binary, config, cluster.directory / "n4")
    try:
        yield
    finally:
        server.kill()


@EVERY_VERSION
def test_server_without_jetstream_is_legal(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    with _without_jetstream(cluster):

        def judge() -> dict[str, object]:
            report = check("--server", cluster.url("sys"), "-vv")[1]
            return {
                "n4 answered": any(r["subject"].get("name") == "n4" for r in report["results"]),
                **{code: failures_of(report, code) for code in ("JSD703", "JSD706", "JSD801", "JSD803", "JSD816")},
            }

        wait_until(lambda: judge()["n4 answered"], "the fourth server to join", timeout=30)
        assert judge() == {"n4 answered": True, "JSD703": {}, "JSD706": {}, "JSD801": {}, "JSD803": {}, "JSD816": {}}


@pytest.mark.parametrize("version", [version for version in VERSIONS if version < "2.14"])
def test_jetstream_switched_off_by_a_full_disk_is_found(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    """Up to 2.12 a member of a cluster switches JetStream off when its disk is full."""
    with small_disk(tmp_path / "deployment-1" / "n2" / "store", 24):
        cluster = cluster_factory(version, 3, jetstream="max_memory_store: 64M\n  max_file_store: 2G")

        with_client(
            cluster,
            lambda client: fill(client, "FULL", "n2", lambda: bool(cluster.monitor("n2", "/jsz").get("disabled"))),
        )
        wait_until(lambda: peers_of(cluster, "FULL"), "the stream to have a leader", timeout=30)
        code, report = check("--server", cluster.url("sys"))
        failures = [r for r in report["results"] if r["code"] == "JSD803" and r["outcome"] == "fail"]
        assert [(r["subject"]["name"], r["severity"]) for r in failures] == [("n2", "critical")]
        assert "still a member" in failures[0]["message"]
        assert code == 1
        cluster.close()


OPEN = "server_name: open\njetstream {\n  store_dir: store\n  max_file_store: 1GB\n}\n"
VISITORS = "accounts { A: { users: [{ user: a, password: a }], jetstream: enabled } }\nno_auth_user: a\n"


@EVERY_VERSION
@pytest.mark.parametrize("extra", ["", VISITORS], ids=["open", "no_auth_user"])
def test_open_server_for_development_gets_one_calm_finding(tmp_path: Path, version: str, extra: str) -> None:
    with NatsServer.start(server_binary(version), OPEN + extra, tmp_path / "open") as server:
        code, report = check("--server", server.url, "--monitor", server.monitor_url)
        assert [
            (r["code"], r["subject"]["name"], r["severity"]) for r in report["results"] if r["outcome"] == "fail"
        ] == [("JSD810", "open", "info")]
        assert code == 0


OTHER = "OTHER: { users: [{ user: other, password: other }], jetstream: enabled }"


@EVERY_VERSION
def test_accounts_without_limits_are_reported_where_they_share(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, accounts=OTHER, app_account="jetstream: {max_file: 100MB}\n")
    for user in ("app", "other"):
        with_client(cluster, _publish("SHARED", 1, 10, max_bytes=1 << 20), user)
    code, report = check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD810") == {"OTHER": "info"}
    assert code == 0
