"""Faults of consumers and accounts that need many assets or samples, with lower thresholds."""

import asyncio
import contextlib
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from tests.servers import VERSIONS
from tests.servers.deployments import single
from tests.servers.landscape import ACCOUNTS, Landscape
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.reports import Json, failures_of, run_check
from tests.support.site import BOUNDED

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("faults")]
LIMITED = ACCOUNTS.replace("jetstream: enabled", "jetstream: { max_streams: 4, max_consumers: 40 }")
LOW = [
    *("--set", "JSD420.many=20", "--set", "JSD420.idle_for=1s"),
    *("--set", "JSD421.often=2", "--set", "JSD616.many=20"),
    *("--samples", "5", "--interval", "1s"),
]


async def leave_behind(client: Client) -> None:
    """Twenty-five ephemeral consumers that stay for an hour and have no client."""
    await add_stream(client, "LEAK", subjects=["leak"], **BOUNDED)
    await client.request("leak", b"x", timeout=5)
    for number in range(25):
        await add_consumer(client, "LEAK", f"tmp{number}", durable=False, inactive_threshold=HOUR_NS)


async def reset_again_and_again(client: Client, until: asyncio.Event) -> None:
    """An ordered consumer that is made anew every half second, as a client does that misses messages."""
    await add_stream(client, "RESET", subjects=["reset"], **BOUNDED)
    for _ in range(10):
        await client.request("reset", b"x", timeout=5)
    number = 0
    while not until.is_set():
        number += 1
        config = {
            "ack_policy": "none",
            "max_deliver": 1,
            "mem_storage": True,
            "num_replicas": 1,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": 2 + number % 8,
            "inactive_threshold": 300_000_000_000,
        }
        await add_consumer(client, "RESET", f"ordered{number}", durable=False, **config)
        await asyncio.sleep(0.5)
        await api(client, f"CONSUMER.DELETE.RESET.ordered{number}")


@pytest.mark.parametrize("version", VERSIONS)
def test_leaks_resets_and_limits_are_found_and_gone_once_cured(tmp_path: Path, version: str) -> None:
    async def sick_and_cured(land: Landscape) -> tuple[Json, Json, Json]:
        client = await nats.connect(land.url())
        until = asyncio.Event()
        try:
            await leave_behind(client)
            resetting = asyncio.create_task(reset_again_and_again(client, until))
            for name in ("A", "B"):
                await add_stream(client, name, subjects=[name.lower()], **BOUNDED)
            await asyncio.sleep(1.5)
            _, by_system = await asyncio.to_thread(run_check, "--server", land.url(user="sys"), *LOW)
            _, by_account = await asyncio.to_thread(run_check, "--server", land.url(), *LOW)
            until.set()
            await resetting
            for number in range(25):
                with contextlib.suppress(AssertionError):
                    await api(client, f"CONSUMER.DELETE.LEAK.tmp{number}")
            await api(client, "STREAM.DELETE.B")
            _, cured = await asyncio.to_thread(run_check, "--server", land.url(), *LOW)
            return by_system, by_account, cured
        finally:
            until.set()
            await client.close()

    with Landscape(tmp_path, version) as land:
        single(land, accounts=LIMITED)
        by_system, by_account, cured = asyncio.run(sick_and_cured(land))
    for report in (by_system, by_account):
        assert failures_of(report, "JSD420") == {"APP/LEAK": "warning"}
        assert failures_of(report, "JSD616") == {"APP/LEAK": "warning"}
        assert failures_of(report, "JSD421") == {"APP/RESET": "warning"}
    assert failures_of(by_account, "JSD824") == {"APP": "error"}
    assert [failures_of(cured, code) for code in ("JSD420", "JSD616", "JSD421", "JSD824")] == [{}, {}, {}, {}]
