"""A single server takes an update to three replicas, and has lost the stream after its next start."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.remedy.fixing import fix
from tests.servers import ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, add_stream, api
from tests.support.stored import store

pytestmark = pytest.mark.real

CONFIG: dict[str, Any] = {"name": "ORDERS", "subjects": ["orders"], "max_age": HOUR_NS, "max_bytes": 1 << 20}
VERSIONS = ["2.12.8", pytest.param("2.10.26", marks=pytest.mark.nightly)]


async def three_replicas(client: Client) -> None:
    await add_stream(client, CONFIG["name"], subjects=CONFIG["subjects"], max_age=HOUR_NS, max_bytes=1 << 20)
    await store(client, "orders")
    await api(client, "STREAM.UPDATE.ORDERS", {**CONFIG, "num_replicas": 3})


async def on(url: str, apply: bool) -> int:
    """Messages in the stream after an update, or now. Raises where there is no such stream."""
    client = await nats.connect(url)
    try:
        if apply:
            await three_replicas(client)
        return int((await api(client, "STREAM.INFO.ORDERS"))["state"]["messages"])
    finally:
        await client.close()


@pytest.mark.parametrize("mended", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_found_and_fixed_before_the_restart(
    version: str, mended: bool, cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    cluster = cluster_factory(version, 1)
    url = cluster.url("app")
    assert asyncio.run(on(url, apply=True)) == 1
    done = jsdoctor("check", "-s", url, "--select", "JSD605", cwd=tmp_path)
    assert (done.returncode, "does not recover the stream" in " ".join(done.stdout.split())) == (1, True)
    if mended:
        fixed = fix(tmp_path, url, "--select", "JSD605")
        assert fixed["exit"] == 0, fixed
        assert jsdoctor("check", "-s", url, "--select", "JSD605", cwd=tmp_path).returncode == 0
    cluster.stop("n1")
    cluster.start("n1", wait=mended)  # without its stream it is never healthy
    if mended:
        assert asyncio.run(on(url, apply=False)) == 1
    else:
        wait_until(lambda: "Error recreating stream" in cluster.node("n1").log_path.read_text(), "the server names it")
        assert "JSD804" in jsdoctor("check", "--logs", str(cluster.node("n1").log_path), cwd=tmp_path).stdout
