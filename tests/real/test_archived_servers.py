"""What is found on a live server is found in a capture of it and in an archive of `nats audit gather`: JSD816."""

from __future__ import annotations

from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.real.outage import check, failures_of, with_client
from tests.servers import VERSIONS, ClusterFactory
from tests.support.deployment import add_stream
from tests.support.stored import store
from tools.record_archives import capture, gather

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("archived-servers")]

*OLDER, NEWEST = VERSIONS
WIDE, NARROW = "max_file_store: 8MB", "max_file_store: 2MB"


async def _fill(client: Client) -> None:
    await add_stream(client, "FULL", subjects=["full"], num_replicas=3)
    for _ in range(20):
        await store(client, "full", body=b"x" * 200_000)


@pytest.mark.parametrize("version", [NEWEST, *(pytest.param(version, marks=pytest.mark.nightly) for version in OLDER)])
def test_limit_below_usage(cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path, version: str) -> None:
    cluster = cluster_factory(version, 3, jetstream=f"max_memory_store: 1MB\n  {WIDE}")
    with_client(cluster, _fill)
    cluster.stop("n2")
    cluster._configs["n2"] = cluster._configs["n2"].replace(WIDE, NARROW)
    cluster.start("n2")
    assert failures_of(check("--server", cluster.url("sys"), "--samples", "1")[1], "JSD816") == {"n2": "error"}
    for file in (capture(cluster, tmp_path / "own.zip"), gather(nats_cli, cluster.urls, tmp_path / "theirs.zip")):
        _, report = check("--bundle", str(file))
        assert failures_of(report, "JSD816") == {"n2": "error"}
        assert failures_of(report, "JSD710") == {"cluster": "info"}, "its limit is not that of the others"
