"""Samples of a deployment as `jsdoctor check` takes them, and what a sample consists of."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Endpoint, Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.connect.connection import Connection, connect
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from jsdoctor.sources.sampling import gather
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory
from tests.support.deployment import api, furnish

NET_S = 60.0  # what hangs, fails; nothing is measured by it
PLAN = CollectionPlan(samples=2, interval_s=0.2, timeout_s=5.0)
ONCE = msgspec.structs.replace(PLAN, samples=1)
NOTHING = msgspec.structs.replace(
    ONCE, **{name: False for name in CollectionPlan.__struct_fields__ if getattr(PLAN, name) is True}
)
NIGHTLY_UNLESS_DEFAULT = [
    pytest.param(version, marks=[] if version == DEFAULT_VERSION else pytest.mark.nightly) for version in VERSIONS
]


def take_samples(
    url: str | None, monitors: Iterable[str] = (), plan: CollectionPlan = PLAN, *, net_s: float = NET_S, **options: Any
) -> tuple[Sample, ...]:
    """What `gather` brings in from that deployment."""

    async def main() -> tuple[Sample, ...]:
        async with asyncio.timeout(net_s):
            if url is None:
                return await gather(None, monitors, plan, **options)
            samples: tuple[Sample, ...] = await connected(url, lambda c: gather(c, monitors, plan, **options))
            return samples

    return asyncio.run(main())


async def connected(url: str, use: Callable[[Connection], Awaitable[Any]]) -> Any:
    """What `use` makes of a connection to that server."""
    settings = resolve(ConnectionOptions(server=url), {}, Path("/nonexistent"))
    async with connect(settings) as connection:
        return await use(connection)


def furnished(shared_cluster: ClusterFactory, version: str = DEFAULT_VERSION, nodes: int = 1) -> Cluster:
    """A deployment with every habit that users have, the same one for all tests of a session. For reading only."""
    cluster = shared_cluster(version, nodes, extra_config="# collection\n")
    if not any(cluster.monitor(name, "/jsz")["streams"] for name in cluster.names):
        asyncio.run(furnish(cluster.url("app"), nodes))
    return cluster


def asked(sample: Sample) -> Counter[str]:
    """How many replies a sample holds, by endpoint, but for those that only tell the time."""
    return Counter(e.endpoint.value for e in sample.exchanges if e.endpoint is not Endpoint.CLOCK)


def everything(nodes: int) -> dict[str, int]:
    """Replies of a first sample of a deployment with one account, which has streams.

    A single server has no groups in any of them.
    """
    once = dict.fromkeys(("HEALTHZ", "CONNZ", "CONNZ.closed", "GATEWAYZ", "LEAFZ", "ROUTEZ"), nodes)
    return once | {"ACCOUNTZ": 2 * nodes} | changing(nodes)


def changing(nodes: int) -> dict[str, int]:
    """Replies of a further sample. Raft groups are those of the system account and, in a cluster, of each other one."""
    links = dict.fromkeys(("GATEWAYZ", "LEAFZ", "ROUTEZ"), nodes)
    return {"JSZ": nodes, "VARZ": nodes, "RAFTZ": 1 if nodes == 1 else 2 * nodes, **links}


def bodies(sample: Sample, endpoint: str) -> list[Any]:
    """The decoded replies of one endpoint."""
    return [json.loads(e.body) for e in sample.exchanges if e.endpoint.value == endpoint]


def gaps(samples: Iterable[Sample]) -> list[Gap]:
    """Everything that was asked for and could not be had, collected or assembled."""
    return [gap for gap in assemble(list(samples)).gaps if gap.requested]


def missing(samples: Iterable[Sample]) -> list[tuple[str, str]]:
    """The same as kind and subject."""
    return sorted((gap.kind, gap.subject.label) for gap in gaps(samples))


def seen(evidence: EvidenceSet) -> ClusterSnapshot:
    """The newest snapshot."""
    series = evidence.get(SnapshotSeries)
    assert series is not None
    return series.last


def streams(samples: Iterable[Sample]) -> dict[str, Stream]:
    """The streams of the newest snapshot by name."""
    return {stream.name: stream for stream in seen(assemble(list(samples))).streams}


async def leaders(client: Any) -> dict[str, str]:
    """Which server leads each stream of the account."""
    listed = (await api(client, "STREAM.LIST"))["streams"]
    return {stream["config"]["name"]: stream["cluster"]["leader"] for stream in listed}
