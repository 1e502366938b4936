"""Faults of single servers, made on real ones: each is found in the logs that they left behind, under its code."""

import asyncio
import contextlib
import os
import re
import signal
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError

from jsdoctor.demo.errors import ServerStartError
from jsdoctor.demo.server import NatsServer, free_ports
from jsdoctor.model.finding import Outcome
from tests.real.logging_client import application, refused
from tests.servers import VERSIONS, Cluster, ClusterFactory, server_binary, wait_until
from tests.sources.operator_mode import Operator, creds
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.load import LOGIN, dial, failed_logins, stalled_reader
from tests.support.log_cases import evidence_of_files
from tests.support.outage import with_client
from tests.support.reports import failures_of, run_check
from tests.support.rule_case import label
from tests.support.ruleset import run_all

pytestmark = pytest.mark.real


STAMP = "%Y/%m/%d %H:%M:%S"
STAMPS = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d"


def severities(*paths: Path) -> dict[str, dict[str, str]]:
    """What all rules say of these logs: the severities of failures by code and subject."""
    by_code: dict[str, dict[str, str]] = {}
    for result in run_all(evidence_of_files(*paths)).results:
        if result.finding.outcome is Outcome.FAIL:
            by_code.setdefault(result.rule.code, {})[label(result.finding.subject)] = result.severity.value
    return by_code


def logs(cluster: Cluster) -> list[Path]:
    return [cluster.node(name).log_path.parent for name in cluster.names]


def wait_for_line(cluster: Cluster, text: str, node: str = "n1") -> None:
    wait_until(lambda: text in cluster.node(node).log_path.read_text(), f"{node} to log {text!r}", timeout=60)


# --- a server that is used badly ----------------------------------------------------------------------------------


SMALL = (
    "max_memory_store: 64M\n  max_file_store: 4M\n  request_queue_limit: 10\n  max_buffered_msgs: 10\n"
    "  max_buffered_size: 2M"
)
TIGHT = "max_pending: 2MB\nwrite_deadline: 1s\nmax_connections: 6\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_is_used_badly(version: str, cluster_factory: ClusterFactory) -> None:
    limits = SMALL if version != "2.10.26" else SMALL.partition("  request")[0]
    cluster = cluster_factory(version, 1, jetstream=limits, extra_config=TIGHT)
    with_client(cluster, fill_the_store)
    failed_logins(cluster, [LOGIN | {"user": "nobody"}] * 25)
    with stalled_reader(cluster, "loud", "sleeper"):
        with_client(cluster, shout)
        wait_for_line(cluster, "Slow Consumer Detected")
    with contextlib.ExitStack() as held:
        for _ in range(7):
            held.enter_context(dial(cluster, LOGIN))
        wait_for_line(cluster, "maximum connections exceeded")
    if version != "2.10.26":
        with_client(cluster, publish_without_waiting)
        wait_for_line(cluster, "excessive stream ingest rate")
        with_client(cluster, request_too_much)
        wait_for_line(cluster, "limit reached, dropping")
    reload_with(cluster, "store_dir: store", "store_dir: elsewhere")
    wait_for_line(cluster, "Failed to reload server configuration")
    result = severities(*logs(cluster))
    shown = run_check("--server", cluster.url("sys"), "--samples", "1")[1]
    assert [failures_of(shown, code) for code in ("JSD806", "JSD808", "JSD809")] == [
        {"n1": "warning"},
        {"n1": "error"},
        {"n1": "warning"},
    ]
    assert result["JSD802"] == {"n1": "error"}
    assert result["JSD806"] == {"n1": "warning"}
    assert result["JSD808"] == {"n1": "warning"}
    assert result["JSD809"] == {"n1": "warning"}
    assert result["JSD819"] == {"n1": "warning"}
    if version != "2.10.26":
        assert result["JSD807"] == {"n1": "error"}
        assert result["JSD815"] == {"APP/FAST": "error"}
    assert "JSD805" not in result

    reload_with(cluster, "store_dir: elsewhere", "store_dir: store")
    wait_for_line(cluster, "Reloaded server configuration")
    cluster.kill("n1")
    cluster.start("n1")
    after = severities(*logs(cluster))
    assert (after["JSD805"], after["JSD819"]) == ({"n1": "warning"}, {"n1": "info"})


async def fill_the_store(client: Client) -> None:
    await add_stream(client, "FULL", subjects=["full"])
    replies = [await client.request("full", bytes(900_000), timeout=5) for _ in range(7)]
    assert b"insufficient resources" in replies[-1].data


async def shout(client: Client) -> None:
    for _ in range(40):
        await client.publish("loud", bytes(500_000))
    await client.flush()


async def publish_without_waiting(client: Client) -> None:
    await api(client, "STREAM.DELETE.FULL")
    await add_stream(client, "FAST", subjects=["fast"], storage="memory", max_msgs=10)
    for _ in range(30_000):
        await client.publish("fast", b"x" * 100)
    await client.flush(timeout=20)


async def request_too_much(client: Client) -> None:
    for _ in range(20_000):
        await client.publish("$JS.API.STREAM.INFO.FAST", b"", reply="nobody.listens")
    await client.flush(timeout=20)


def reload_with(cluster: Cluster, before: str, after: str) -> None:
    """Edit the configuration and tell the server with a signal, as `nats-server --signal reload` does."""
    node = cluster.node("n1")
    path = node.directory / "server.conf"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    os.kill(node.pid, signal.SIGHUP)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_a_machine_that_is_frozen_again_and_again(version: str, cluster_factory: ClusterFactory) -> None:
    """As hypervisors do it: the server finds that it took seconds to work through what it had read."""
    cluster = cluster_factory(version)
    over = threading.Event()
    flood = threading.Thread(target=publish_until, args=(cluster, over))
    flood.start()
    try:
        for _ in range(20):  # it must be frozen at work, not while it waits for the network
            cluster.pause("n1")
            time.sleep(2.1)
            cluster.resume("n1")
            time.sleep(0.1)
            if cluster.node("n1").log_path.read_text().count("Readloop processing time") >= 3:
                break
    finally:
        over.set()
        flood.join()
    log = cluster.node("n1").log_path
    cluster.kill("n1")
    log.write_text(started_before(log.read_text()))
    assert severities(log)["JSD814"] == {"n1": "warning"}


def publish_until(cluster: Cluster, over: threading.Event) -> None:
    """Again and again: a server that was frozen may take its client for stale, and close the connection."""
    while not over.is_set():
        with contextlib.suppress(OSError), dial(cluster, LOGIN) as raw:
            while not over.is_set():
                raw.sendall(b"PUB nobody.listens 0\r\n\r\n" * 20_000)


# --- what is stored -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_stores(version: str, cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(version)

    async def work(client: Client) -> None:
        for name in ("CUT", "BAD", "LOST"):
            await add_stream(client, name, subjects=[name.lower()])
            for _ in range(50):
                await client.request(name.lower(), bytes(1000), timeout=5)
            await api(
                client,
                f"CONSUMER.DURABLE.CREATE.{name}.c",
                {"stream_name": name, "config": {"durable_name": "c", "ack_policy": "explicit"}},
            )

    with_client(cluster, work)
    cluster.stop("n1")
    streams = cluster.store_dir("n1") / "jetstream" / "APP" / "streams"
    (streams / "CUT" / "obs" / "c" / "meta.inf").write_bytes(b"{no settings")
    (streams / "LOST" / "obs" / "c" / "meta.inf").unlink()
    meta = streams / "BAD" / "meta.inf"
    meta.write_bytes(meta.read_bytes().replace(b"bad", b"bed"))
    cluster.start("n1", wait=False)
    wait_for_line(cluster, "checksums do not match")
    result = severities(*logs(cluster))
    assert result["JSD804"] == dict.fromkeys(("APP/CUT/c", "APP/LOST/c", "APP/BAD"), "error")
    assert result["JSD411"] == {"APP/CUT/c": "error", "APP/LOST/c": "error"}


# --- starts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_starts_that_fail(version: str, tmp_path: Path) -> None:
    binary = server_binary(version)
    (tmp_path / "file").write_text("no directory")
    config = f'server_name: n1\njetstream {{store_dir: "{tmp_path}/file"}}\n'
    with pytest.raises(ServerStartError):
        NatsServer.start(binary, config, tmp_path / "n1", timeout=5)
    with pytest.raises(ServerStartError):
        NatsServer.start(binary, "jetstrem: enabled\n", tmp_path / "typing-error", timeout=5)
    assert severities(tmp_path / "n1")["JSD817"] == {"n1": "critical"}
    assert list(severities(tmp_path / "typing-error")["JSD817"].values()) == ["error"]
    with NatsServer.start(binary, "server_name: n1\n", tmp_path / "n1"):
        assert severities(tmp_path / "n1")["JSD817"] == {"n1": "info"}


@pytest.mark.parametrize("version", VERSIONS)
def test_two_servers_with_one_name(version: str, tmp_path: Path) -> None:
    binary, ports = server_binary(version), free_ports(2)
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    config = 'server_name: n1\ncluster {{name: C, listen: "127.0.0.1:{}", routes: [{}]}}\n'
    with (
        NatsServer.start(binary, config.format(ports[0], routes), tmp_path / "a") as server,
        NatsServer.start(binary, config.format(ports[1], routes), tmp_path / "b"),
    ):
        wait_until(lambda: "duplicate name" in server.log_path.read_text(), "the servers to meet", timeout=30)
        assert severities(tmp_path / "a")["JSD817"] == {"n1": "critical"}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_store_directory(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with NatsServer.start(server_binary(version), "server_name: n1\njetstream: enabled\n", tmp_path / "n1") as server:
        assert severities(server.log_path)["JSD818"] == {"n1": "warning"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_resolver_without_a_response(version: str, tmp_path: Path) -> None:
    operator = Operator()
    (tmp_path / "user.creds").write_text(creds(*operator.user(operator.app)))
    known = "\n".join(line for line in operator.config.splitlines() if operator.app.public not in line)
    config = known.replace("resolver: MEMORY", 'resolver: {type: cache, dir: jwt, ttl: "1h", limit: 10}')

    with NatsServer.start(server_binary(version), "server_name: n1\n" + config, tmp_path / "n1") as server:
        login = ["--server", server.url, "--creds", str(tmp_path / "user.creds"), "--timeout", "10s"]
        run_check(*login)
        text = server.log_path.read_text()
        assert "Account fetch failed" in text
        server.kill()
        server.log_path.write_text(started_just_before(text))
        assert "JSD822" not in severities(tmp_path / "n1")
        server.log_path.write_text(started_before(text))
    assert severities(tmp_path / "n1")["JSD822"] == {"n1": "warning", operator.app.public: "info"}


def started_before(text: str) -> str:
    """The same log of a server that had been up for an hour when the client came."""
    start, ready, rest = text.partition("Server is ready")

    def earlier(stamp: re.Match[str]) -> str:
        return f"{datetime.strptime(stamp[0], STAMP).astimezone() - timedelta(hours=1):{STAMP}}"

    return re.sub(STAMPS, earlier, start) + ready + rest


def started_just_before(text: str) -> str:
    """The same log of a server that had been ready for a second when the client came, however slow this machine is."""
    start, ready, rest = text.partition("Server is ready")
    first = re.search(STAMPS, rest)
    assert first
    moment = datetime.strptime(first[0], STAMP).astimezone() - timedelta(seconds=1)
    return re.sub(STAMPS, f"{moment:{STAMP}}", start) + ready + rest


# --- what applications log ----------------------------------------------------------------------------------------


def test_applications_that_are_refused(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()

    async def work() -> None:
        async with application(cluster.url("app"), tmp_path / "orders.log") as (client, log):
            js = client.jetstream()
            await add_stream(client, "TINY", subjects=["tiny"], max_msgs=1, discard="new")
            await js.publish("tiny", b"1")
            await refused(log, "publish", js.publish("tiny", b"2"))
        async with application(cluster.url("app"), tmp_path / "typing.log") as (client, log):
            await refused(log, "publish", client.jetstream().publish("ordres.new", b"1"))

    asyncio.run(work())
    result = severities(tmp_path)
    assert result["JSD603"] == {"orders": "error"}
    assert result["JSD613"] == {"typing": "warning"}


# --- the command line ---------------------------------------------------------------------------------------------


NARROW = """NARROW: {
  jetstream: enabled
  users: [
    {user: owner, password: owner}
    {user: worker, password: worker, permissions: {publish: {deny: ["$JS.ACK.>", "$JS.API.STREAM.INFO.*"]}}}
  ]
}"""


async def furnish(client: Client) -> None:
    await add_stream(client, "ORDERS", subjects=["orders"])
    await add_consumer(client, "ORDERS", "worker")
    await client.jetstream().publish("orders", b"1")


def work_without_permissions(cluster: Cluster) -> list[str]:
    """A worker that fetches and acknowledges; returns what it logs."""
    logged: list[str] = []

    async def error(problem: Exception) -> None:
        logged.append(f"2026-11-21T10:00:00Z ERROR worker: {problem}")

    async def run() -> None:
        client = await nats.connect(cluster.url("worker"), error_cb=error)
        try:
            subscription = await client.jetstream().pull_subscribe_bind("worker", "ORDERS")
            [message] = await subscription.fetch(1)
            await message.ack()
            await client.flush()
            with pytest.raises(NatsTimeoutError):
                await client.request("$JS.API.STREAM.INFO.ORDERS", timeout=0.5)
        finally:
            await client.close()

    asyncio.run(run())
    return logged


@pytest.mark.parametrize("version", VERSIONS)
def test_permissions_that_lack_acknowledgements(version: str, cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(version, 1, accounts=NARROW)
    with_client(cluster, furnish, "owner")
    logged = work_without_permissions(cluster)
    wait_for_line(cluster, "$JS.API.STREAM.INFO.ORDERS")
    [severity] = severities(*logs(cluster))["JSD825"].values()
    assert severity == "warning", "one refused acknowledgement is enough"

    app = tmp_path / "worker.log"
    app.write_text("\n".join([*logged, *["2026-11-21T10:00:01Z ERROR worker: publish failed: nats: timeout"] * 6, ""]))
    failures = severities(app)
    assert failures["JSD825"] == {"worker": "warning"}, logged
    assert failures["JSD826"] == {"worker": "warning"}
