"""Operator mode: accounts that use up what their JWTs allow them. Captured evidence tells the same."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error

from jsdoctor.demo.server import NatsServer, free_ports
from tests.collect.operator_mode import Operator, creds
from tests.real.outage import check, failures_of, with_client
from tests.servers import VERSIONS, ClusterFactory, server_binary
from tests.support.deployment import add_consumer, add_stream

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("account-limits")]


OLDEST, *BETWEEN, NEWEST = VERSIONS


@pytest.mark.parametrize(
    "version", [OLDEST, *(pytest.param(version, marks=pytest.mark.nightly) for version in BETWEEN), NEWEST]
)
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
            checks = (asyncio.to_thread(check, *way, "--select", "JSD811", "--samples", "1") for way in ways)
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


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_consumers_are_limited_for_each_stream(cluster_factory: ClusterFactory, version: str) -> None:
    """With a limit of five, each of two streams takes five consumers, and the account has ten."""
    cluster = cluster_factory(version, 1, app_account="jetstream { max_consumers: 5 }\n")

    async def add(client: Client, count: int) -> None:
        for number in range(count):
            for name in ("A", "B"):
                await add_consumer(client, name, f"c{number}")

    async def four_each(client: Client) -> None:
        for name in ("A", "B"):
            await add_stream(client, name, subjects=[name.lower()], max_bytes=1 << 20)
        await add(client, 4)

    async def sixth(client: Client) -> None:
        await add(client, 5)
        with pytest.raises(AssertionError, match="10026"):
            await add_consumer(client, "A", "sixth")

    def failures() -> dict[str, str]:
        _, report = check("--server", cluster.url(), "--select", "JSD824", "--samples", "1")
        return failures_of(report, "JSD824")

    with_client(cluster, four_each)
    assert failures() == {}
    with_client(cluster, sixth)
    assert failures() == {"APP": "error"}


def _node(name: str, routes: list[int], own: int, store: Path, operator: Operator) -> str:
    urls = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
    return (
        f'server_name: {name}\njetstream {{ store_dir: "{store}", max_mem: 64M, max_file: 1G }}\n'
        f'cluster {{ name: T\n listen: "127.0.0.1:{own}"\n routes: [{urls}] }}\n{operator.config}'
    )


@pytest.mark.nightly
@pytest.mark.parametrize(("version", "counts_all_tiers"), [("2.12.8", True), ("2.15.1", False)])
def test_consumers_of_another_tier_count_before_2_14_6(tmp_path: Path, version: str, counts_all_tiers: bool) -> None:
    """Three consumers of three replicas leave no place for one of one replica, of which the account allows two."""
    operator = Operator(tiers={"R1": {"streams": 10, "consumer": 2}, "R3": {"streams": 10, "consumer": 10}})
    app = tmp_path / "app.creds"
    app.write_text(creds(*operator.user(operator.app)))

    async def stream(url: str) -> Client:
        client = await nats.connect(url, user_credentials=str(app))
        for _ in range(60):
            try:
                await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=3, max_bytes=1 << 20)
            except (AssertionError, Error):
                await asyncio.sleep(0.5)
            else:
                break
        for number in range(3):
            await add_consumer(client, "ORDERS", f"three{number}", num_replicas=3)
        return client

    async def is_refused(url: str) -> bool:
        client = await stream(url)
        try:
            await add_consumer(client, "ORDERS", "one", num_replicas=1)
        except AssertionError as error:
            return "10026" in str(error)
        finally:
            await client.close()
        return False

    with contextlib.ExitStack() as running:
        ports = free_ports(3)
        servers = [
            running.enter_context(
                NatsServer.start(
                    server_binary(version),
                    _node(f"n{number}", ports, port, tmp_path / f"store{number}", operator),
                    tmp_path / f"n{number}",
                )
            )
            for number, port in enumerate(ports, start=1)
        ]
        assert asyncio.run(is_refused(servers[0].url)) == counts_all_tiers
        _, report = check("--server", servers[0].url, "--creds", str(app), "--select", "JSD824", "--samples", "1")
    outcomes = [result["outcome"] for result in report["results"] if result["code"] == "JSD824"]
    assert outcomes == (["not_evaluated"] if counts_all_tiers else [])
