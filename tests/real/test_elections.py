"""JSD705 on real servers: leaders that are elected again and again, and what is normal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.collect.looking import NIGHTLY_UNLESS_DEFAULT
from tests.real.outage import peers_of, with_client
from tests.real.two_samples import NAME, made, once, settled, severities
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.support.deployment import api

pytestmark = pytest.mark.real


def step_down(cluster: Cluster, subject: str, times: int, led: Callable[[], object]) -> None:
    """Elect that often; `led` tells whether there is a leader."""
    user = "sys" if subject.startswith("META") else "app"
    for _ in range(times):
        wait_until(lambda: bool(led()), "a leader", timeout=20)
        with_client(cluster, lambda client: api(client, subject), user)
    wait_until(lambda: bool(led()), "a leader", timeout=20)


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_elections(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    made(cluster)
    before = settled(cluster)
    step_down(cluster, f"STREAM.LEADER.STEPDOWN.{NAME}", 4, lambda: peers_of(cluster, NAME))
    after = settled(cluster)
    assert severities("JSD705", before + after) == {f"APP/{NAME}": "warning"}
    step_down(cluster, "META.LEADER.STEPDOWN", 4, cluster.meta_leader)
    cluster.wait_ready()
    last = settled(cluster)
    assert severities("JSD705", after + last) == {"cluster": "critical"}
    assert severities("JSD705", last + once(cluster)) == {}


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_leaders_named_by_a_plain_account(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    made(cluster)
    settled(cluster)
    samples = once(cluster, "app")
    for _ in range(3):
        step_down(cluster, f"STREAM.LEADER.STEPDOWN.{NAME}", 1, lambda: peers_of(cluster, NAME))
        settled(cluster)
        samples += once(cluster, "app")
    assert severities("JSD705", samples) == {f"APP/{NAME}": "warning"}
    assert severities("JSD705", samples[-1:] + once(cluster, "app") + once(cluster, "app") + once(cluster, "app")) == {}


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_roll_out_is_no_flapping(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    made(cluster)
    before = settled(cluster)
    for node in cluster.names:
        cluster.stop(node)
        cluster.start(node)
    samples = before + settled(cluster)
    assert [severities(code, samples) for code in ("JSD705", "JSD203", "JSD204", "JSD207", "JSD411")] == [{}] * 5
