"""The harness itself: what the other tests take for granted about their deployments."""

import asyncio
import contextlib
import gc
import re
import subprocess
from pathlib import Path

import httpx2
import nats
import pytest

from tests.servers import (
    BETWEEN,
    DEFAULT_VERSION,
    VERSIONS,
    Cluster,
    ClusterFactory,
    cluster_factories,
    natscli,
    server_binary,
)

pytestmark = pytest.mark.real
NIGHTLY = pytest.mark.nightly


def test_deployment_is_of_the_requested_version(cluster_factory: ClusterFactory, server_version: str) -> None:
    cluster = cluster_factory(server_version)
    varz = cluster.monitor("n1", "/varz")
    assert (varz["version"], varz["server_name"]) == (server_version, "n1")
    assert varz["system_account"] == "SYS"
    assert cluster.name is None


@pytest.mark.parametrize(
    "version", [pytest.param(version, marks=[] if version == DEFAULT_VERSION else NIGHTLY) for version in VERSIONS]
)
def test_cluster_survives_a_killed_leader_and_takes_it_back(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, nodes=3)
    leader = cluster.meta_leader()
    assert leader in cluster.names == ["n1", "n2", "n3"]
    urls = cluster.urls

    cluster.kill(leader)
    cluster.wait_ready()
    assert cluster.meta_leader() not in (None, leader)

    cluster.start(leader)
    assert cluster.urls == urls
    assert all(cluster.monitor(node, "/healthz") == {"status": "ok"} for node in cluster.names)


def test_without_quorum_there_is_no_leader(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    cluster.kill("n1")
    cluster.stop("n2")
    with pytest.raises(TimeoutError, match="a meta leader"):
        cluster.wait_ready(timeout=0.5)


def test_paused_node_does_not_respond_until_resumed(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()
    cluster.pause("n1")
    with pytest.raises(httpx2.TimeoutException):
        httpx2.get(cluster.monitor_urls[0] + "/varz", timeout=0.2)
    cluster.resume("n1")
    assert cluster.monitor("n1", "/varz")["server_name"] == "n1"


def test_options_reach_the_servers(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(
        extra_config="max_connections: 77\n",
        jetstream="max_file_store: 10M",
        app_account="jetstream: { max_streams: 3 }",
        accounts="OTHER { jetstream: enabled, users: [{user: other, password: other}] }\n",
        node_config=lambda name: f"server_tags: [only-{name}]\n",
    )
    varz = cluster.monitor("n1", "/varz")
    assert varz["max_connections"] == 77
    assert varz["tags"] == ["only-n1"]
    assert varz["jetstream"]["config"]["max_storage"] == 10_000_000
    accounts = {account["name"] for account in cluster.monitor("n1", "/jsz?accounts=true")["account_details"]}
    assert accounts == {"APP", "OTHER"}


def test_shared_deployment_is_the_same_for_the_same_arguments(tmp_path: Path) -> None:
    with cluster_factories(tmp_path, reuse=True) as launch:
        assert launch() is launch(VERSIONS[-1], nodes=1)
        assert launch() is not launch(extra_config="max_connections: 7\n")


def test_every_deployment_of_a_test_is_closed_when_it_fails(tmp_path: Path) -> None:
    launched: list[Cluster] = []

    def interrupted_test() -> None:
        with cluster_factories(tmp_path) as launch:
            launched.extend([launch(), launch()])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_test()
    assert len({cluster.directory for cluster in launched}) == 2
    assert not any(cluster.node("n1").running for cluster in launched)


def test_unknown_version_is_refused_with_the_known_ones() -> None:
    assert [version for version in VERSIONS if version not in BETWEEN] == ["2.10.26", "2.12.8", "2.15.1"]
    with pytest.raises(LookupError, match=rf"9\.9\.9 is not locked.*known are {re.escape(', '.join(VERSIONS))}$"):
        server_binary("9.9.9")


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_missing_nats_command_skips_but_never_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setattr(natscli, "ROOT", tmp_path)
    monkeypatch.setattr(natscli, "BINARY", tmp_path / "nats")
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="the nats command is not at nats"):
        natscli.require_nats_cli()


def test_nats_command_is_the_one_that_printed_commands_are_for(nats_cli: Path) -> None:
    done = subprocess.run([nats_cli, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "v0.5.0"


def test_a_client_leaves_no_socket_behind_when_it_reconnects(cluster_factory: ClusterFactory) -> None:
    """The second connection is accepted and dropped, as by a server that is starting; the third reaches the server."""
    asyncio.run(_reconnect_past_a_dropped_connection(int(cluster_factory().url("app").rpartition(":")[2])))
    gc.collect()  # a socket that is collected open is an error here: pyproject.toml


async def _reconnect_past_a_dropped_connection(port: int) -> None:
    relays: list[asyncio.Task[None]] = []
    accepted: list[asyncio.StreamWriter] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        if len(accepted) == 2:
            writer.close()
            return
        server = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_copy(reader, server[1]), _copy(server[0], writer))

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relays.append(asyncio.create_task(relay(reader, writer)))

    errors: list[Exception] = []

    async def note(error: Exception) -> None:
        errors.append(error)

    reconnected = asyncio.Event()

    async def notice() -> None:
        reconnected.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as listener:
        url = f"nats://app:app@127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        client = await nats.connect(url, error_cb=note, reconnected_cb=notice, reconnect_time_wait=0.05)
        accepted[0].close()
        await asyncio.wait_for(reconnected.wait(), 30)
        await client.close()
        await asyncio.gather(*relays)
    assert (len(accepted), len(errors)) == (3, 2)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass everything on, and the end of it as well."""
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
    target.close()
    with contextlib.suppress(OSError):
        await target.wait_closed()
