"""The deployment of the recordings, idle and busy, of every supported version and through every access: healthy."""

import asyncio

import pytest

from tests.healthy.frame import loud
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import Traffic, furnish
from tests.support.reports import Json, run_check

pytestmark = [pytest.mark.real, pytest.mark.every_version]


DEPLOYMENTS = [
    pytest.param(
        (version, nodes),
        id=f"{version}-{nodes}",
        marks=() if version == DEFAULT_VERSION or (version, nodes) == (VERSIONS[0], 3) else pytest.mark.nightly,
    )
    for version in VERSIONS
    for nodes in (1, 3)
]


@pytest.fixture(scope="module", params=DEPLOYMENTS)
def healthy(request: pytest.FixtureRequest, shared_cluster: ClusterFactory) -> Cluster:
    version, nodes = request.param
    cluster = shared_cluster(version, nodes, extra_config="# healthy\n")
    asyncio.run(furnish(cluster.url("app"), nodes))
    return cluster


@pytest.mark.parametrize("user", ["sys", "app"])
def test_idle(healthy: Cluster, user: str) -> None:
    code, report = run_check("--server", healthy.url(user))
    assert loud(report) == []
    assert (code, report["gaps"]) == (0, [gap for gap in report["gaps"] if not gap["requested"]])


def test_idle_through_monitoring(healthy: Cluster) -> None:
    addresses = [word for url in healthy.monitor_urls for word in ("--monitor", url)]
    code, report = run_check(*addresses)
    assert loud(report) == []
    assert code == 0


def test_busy(healthy: Cluster) -> None:
    """Two runs while publishers and consumers work: a false alarm that comes and goes has two chances."""

    async def while_busy() -> list[tuple[int, Json]]:
        async with Traffic(healthy.url("app")):
            await asyncio.sleep(1)
            return [await asyncio.to_thread(run_check, "--server", healthy.url(user)) for user in ("sys", "app")]

    for code, report in asyncio.run(while_busy()):
        assert loud(report) == []
        assert code == 0


@pytest.mark.nightly
def test_leaders_listen_to_idle_streams(healthy: Cluster) -> None:
    """Half a minute after they were furnished. A mirror has no subjects, so it is not judged."""

    def judged() -> Json:
        _, report = run_check("--server", healthy.url("sys"), "--select", "JSD730")
        (rule,) = report["rules"]
        return dict(rule["subjects"])

    wait_until(lambda: judged()["pass"] >= 7, "idle streams", timeout=60)
    assert judged()["fail"] == 0
