"""Servers that are full, switched off, open to everybody; certificates and accounts at their limits."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from jsdoctor.demo.server import NatsServer, free_ports
from tests.clock import clock_shifter
from tests.real.incident_reports import first_is
from tests.servers import VERSIONS, Cluster, ClusterFactory, server_binary, wait_until
from tests.sources.certificates import Certificates
from tests.sources.operator_mode import Operator, creds
from tests.support.deployment import add_stream, api
from tests.support.outage import small_disk, with_client
from tests.support.reports import failures_of, run_check

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("server-health")]
ONCE = ("--samples", "1")
"""Most of these rules judge no rate."""


def _publish(stream: str, count: int, size: int, **config: object) -> Callable[[Client], Awaitable[None]]:
    async def work(client: Client) -> None:
        await add_stream(client, stream, subjects=[stream.lower()], **config)
        for _ in range(count):
            await client.request(stream.lower(), b"x" * size, timeout=10)

    return work


@pytest.mark.parametrize("version", VERSIONS)
def test_full_account_is_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, app_account="jetstream: {max_file: 1MB, max_mem: 1MB}\n")
    with_client(cluster, _publish("P802", 9, 100_000))
    for user in ("sys", "app"):
        code, report = run_check("--server", cluster.url(user), *ONCE)
        assert failures_of(report, "JSD802") == {"APP": "warning"}, user
        assert code == 0
    with_client(cluster, lambda client: api(client, "STREAM.PURGE.P802"))
    for user in ("sys", "app"):
        assert failures_of(run_check("--server", cluster.url(user), *ONCE)[1], "JSD802") == {}, user


@pytest.mark.parametrize("version", VERSIONS)
def test_limit_below_usage_is_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, jetstream="max_memory_store: 1MB\n  max_file_store: 8MB")
    with_client(cluster, _publish("P816", 20, 200_000))
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE)[1], "JSD816") == {}
    _restart_with(cluster, "max_file_store: 8MB", "max_file_store: 2MB")
    code, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD816") == {"n1": "error"}
    assert code == 1
    _restart_with(cluster, "max_file_store: 2MB", "max_file_store: 8MB")
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE)[1], "JSD816") == {}


def _restart_with(cluster: Cluster, old: str, new: str) -> None:
    cluster.stop("n1")
    assert old in cluster._configs["n1"]
    cluster._configs["n1"] = cluster._configs["n1"].replace(old, new)
    cluster.start("n1")


@pytest.mark.parametrize("version", VERSIONS)
def test_unset_limit_is_found_where_a_restart_lowers_it(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    """Up to 2.12 the limit after a restart is 75 % of what is left; newer servers count what they store."""
    with small_disk(tmp_path / "deployment-1" / "n1" / "store", 64):
        cluster = cluster_factory(version, 1, jetstream="max_memory_store: 1MB")
        with_client(cluster, _publish("P816", 40, 1_000_000, storage="file"))
        assert failures_of(run_check("--server", cluster.url("sys"), *ONCE)[1], "JSD816") == {}
        cluster.stop("n1")
        cluster.start("n1")
        _, report = run_check("--server", cluster.url("sys"), *ONCE)
        lowered = {"n1": "error"} if version < "2.14" else {}
        assert failures_of(report, "JSD816") == lowered
        judged = [r["outcome"] for r in report["results"] if r["code"] == "JSD816"]
        assert judged == (["fail"] if lowered else ["not_evaluated"])
        cluster.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_removed_server_that_still_runs_is_found(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = cluster_factory(version, 3)
    leader = cluster.meta_leader()
    removed = next(name for name in cluster.names if name != leader)
    with_client(cluster, lambda client: api(client, "SERVER.REMOVE", {"peer": removed}), "sys")
    wait_until(lambda: cluster.monitor(removed, "/jsz").get("disabled"), "JetStream to be switched off")
    code, report = run_check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD803") == {removed: "critical"}
    assert set(failures_of(report, "JSD801")) == {removed}
    assert failures_of(report, "JSD706") == {"cluster": "warning"}
    assert failures_of(report, "JSD703") == {}
    assert code == 1
    first_is(report, f"JSD803 {removed}", "JSD801", "JSD706")
    logs = [f"--logs={cluster.node(name).log_path}" for name in cluster.names]
    assert failures_of(run_check(*logs)[1], "JSD803") == {removed: "critical"}
    # Started again it is healthy, but for some minutes the cluster does not take it back.
    _start_again(cluster, removed)
    patient = tmp_path / "patient.toml"
    patient.write_text('[rules.JSD803]\nstart_up = "0s"\n')
    code, report = run_check("--server", cluster.url("sys"), "--config", str(patient))
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


@pytest.mark.parametrize("version", VERSIONS)
def test_server_without_jetstream_is_legal(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    with _without_jetstream(cluster):

        def judge() -> dict[str, object]:
            report = run_check("--server", cluster.url("sys"), "-vv")[1]
            return {
                "n4 answered": any(r["subject"].get("name") == "n4" for r in report["results"]),
                **{code: failures_of(report, code) for code in ("JSD703", "JSD706", "JSD801", "JSD803", "JSD816")},
            }

        wait_until(lambda: judge()["n4 answered"], "the fourth server to join", timeout=30)
        assert judge() == {"n4 answered": True, "JSD703": {}, "JSD706": {}, "JSD801": {}, "JSD803": {}, "JSD816": {}}


OPEN = "server_name: open\njetstream {\n  store_dir: store\n  max_file_store: 1GB\n}\n"
VISITORS = "accounts { A: { users: [{ user: a, password: a }], jetstream: enabled } }\nno_auth_user: a\n"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("extra", ["", VISITORS], ids=["open", "no_auth_user"])
def test_open_server_for_development_gets_one_calm_finding(tmp_path: Path, version: str, extra: str) -> None:
    with NatsServer.start(server_binary(version), OPEN + extra, tmp_path / "open") as server:
        code, report = run_check("--server", server.url, "--monitor", server.monitor_url, *ONCE)
        assert [
            (r["code"], r["subject"]["name"], r["severity"]) for r in report["results"] if r["outcome"] == "fail"
        ] == [("JSD810", "open", "info")]
        assert code == 0


OTHER = "OTHER: { users: [{ user: other, password: other }], jetstream: enabled }"


@pytest.mark.parametrize("version", VERSIONS)
def test_accounts_without_limits_are_reported_where_they_share(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1, accounts=OTHER, app_account="jetstream: {max_file: 100MB}\n")
    for user in ("app", "other"):
        with_client(cluster, _publish("SHARED", 1, 10, max_bytes=1 << 20), user)
    code, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD810") == {"OTHER": "info"}
    assert code == 0


DAY_S = 86_400


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("pki"))


def _tls(pair: tuple[Path, Path]) -> str:
    return f'tls {{ cert_file: "{pair[0]}", key_file: "{pair[1]}" }}'


@pytest.mark.parametrize("version", VERSIONS)
def test_expiring_certificates_are_found(certificates: Certificates, tmp_path: Path, version: str) -> None:
    shift = clock_shifter(tmp_path)
    route, leaf, websocket = free_ports(3)
    config = (
        f"server_name: tls\n{_tls(certificates.valid_for(90))}\n"
        f'cluster {{ name: C, listen: "127.0.0.1:{route}", {_tls(certificates.valid_for(20))} }}\n'
        f'leafnodes {{ listen: "127.0.0.1:{leaf}", {_tls(certificates.valid_for(60))} }}\n'
        f'websocket {{ listen: "127.0.0.1:{websocket}", {_tls(certificates.valid_for(60))} }}\n'
    )
    with NatsServer.start(server_binary(version), config, tmp_path / "tls") as server:
        _, report = run_check("--monitor", server.monitor_url, "--samples", "1", "-vv")
        (judged,) = [result for result in report["results"] if result["code"] == "JSD812"]
        if version < "2.12":
            assert judged["outcome"] == "not_evaluated"
            assert "does not say when its certificate expires" in judged["message"]
            return
        assert (judged["outcome"], judged["severity"]) == ("fail", "warning")
        assert "certificate for routes expires in 19 days" in judged["message"]
        assert "leaf nodes" not in judged["message"]
        for days, severity in ((14, "error"), (25, "critical")):
            shift(server.pid, days * DAY_S)
            code, report = run_check("--monitor", server.monitor_url, "--samples", "1")
            assert failures_of(report, "JSD812") == {"tls": severity}
            assert code == 1
        shift(server.pid, 0)
        renewed = config.replace(_tls(certificates.valid_for(20)), _tls(certificates.valid_for(61)))
    with NatsServer.start(server_binary(version), renewed, tmp_path / "renewed") as server:
        assert failures_of(run_check("--monitor", server.monitor_url, "--samples", "1")[1], "JSD812") == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_account_near_its_limits_is_found(tmp_path: Path, version: str) -> None:
    operator = Operator({"conn": 10, "subs": 20})
    system, app = tmp_path / "sys.creds", tmp_path / "app.creds"
    system.write_text(creds(*operator.user(operator.system)))
    app.write_text(creds(*operator.user(operator.app)))

    async def connect(count: int, url: str) -> list[Client]:
        return [await nats.connect(url, user_credentials=str(app)) for _ in range(count)]

    async def visit(server: NatsServer) -> None:
        async def near_limits() -> list[dict[str, str]]:
            ways = (("--server", server.url, "--creds", str(system)), ("--monitor", server.monitor_url))
            checks = (asyncio.to_thread(run_check, *way, "--select", "JSD811", "--samples", "1") for way in ways)
            return [failures_of(report, "JSD811") for _, report in await asyncio.gather(*checks)]

        clients = await connect(8, server.url)
        try:
            # The limit on subscriptions is one for each connection: 8 x 15 are no fault.
            for client in clients:
                for number in range(15):
                    await client.subscribe(f"a.{number}")
                await client.flush()
            assert await near_limits() == [{}, {}]
            for number in range(15, 19):
                await clients[0].subscribe(f"a.{number}")
            await clients[0].flush()
            assert await near_limits() == [{"APP": "warning"}] * 2
            await clients.pop(0).close()
            clients += await connect(2, server.url)
            assert await near_limits() == [{"APP": "warning"}] * 2
            clients += await connect(1, server.url)
            assert await near_limits() == [{"APP": "error"}] * 2
            await clients.pop().close()
            await clients.pop().close()
            assert await near_limits() == [{}, {}]
        finally:
            for client in clients:
                await client.close()

    with NatsServer.start(server_binary(version), "server_name: op\n" + operator.config, tmp_path / "op") as server:
        asyncio.run(visit(server))


@pytest.mark.parametrize("version", VERSIONS)
def test_addresses_of_a_healthy_cluster_are_reached(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    for user in ("sys", "app"):
        _, report = run_check("--server", cluster.url(user), "--addresses", "--select", "JSD851")
        assert report["summary"]["rules"]["pass"] == 1, user
    _, report = run_check("--server", cluster.url("sys"), "--select", "JSD851")
    assert report["summary"]["rules"]["not_evaluated"] == 1
