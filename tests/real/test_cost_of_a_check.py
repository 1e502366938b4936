"""How many requests a check sends to servers, by their own record, at 100, 1,000 and 10,000 assets on three nodes."""

import pytest

from bench.deployment import Deployment
from tests.servers import Cluster
from tests.support.reports import requested, run_check

pytestmark = [pytest.mark.real, pytest.mark.nightly]

CONSUMERS = 3
"""Of each stream: so a stream and its consumers are four assets."""
MAX_OF_SYSTEM = 64
"""Requests through the system account: their number does not grow with the assets."""
PATIENCE = ("--timeout", "60s")
"""For each reply: on a busy machine, monitoring ports take more than five seconds to list 10,000 assets."""


def sent(cluster: Cluster, *access: str) -> int:
    """Requests of one check: those of its connections, or those to the monitoring ports."""

    def connections() -> dict[tuple[str, int], int]:
        closed = {
            name: cluster.monitor(name, "/connz?state=closed&limit=10000")["connections"] for name in cluster.names
        }
        ours = (
            (name, c) for name, listed in closed.items() for c in listed if c.get("name", "").startswith("jsdoctor")
        )
        return {(name, connection["cid"]): connection["in_msgs"] for name, connection in ours}

    def http() -> int:
        return sum(sum(cluster.monitor(name, "/varz")["http_req_stats"].values()) for name in cluster.names)

    known, before = connections(), http()
    _, report = run_check(*access, *PATIENCE)
    assert requested(report) == []
    if access[0] == "--monitor":
        return http() - before - len(cluster.names)  # what `http` requested itself
    return sum(count for key, count in connections().items() if key not in known)


@pytest.mark.parametrize("assets", [100, 1000, 10000])
def test_the_servers_hardly_notice_a_check(assets: int) -> None:
    streams = assets // (1 + CONSUMERS)
    with Deployment.launch(CONSUMERS) as deployment:
        deployment.grow_to(streams)
        cluster = deployment.cluster
        assert 0 < sent(cluster, "--server", cluster.url("sys")) <= MAX_OF_SYSTEM
        assert 0 < sent(cluster, "--server", cluster.url("app")) <= MAX_OF_SYSTEM + 1.5 * streams
        monitors = [word for url in cluster.monitor_urls for word in ("--monitor", url)]
        assert 0 < sent(cluster, *monitors) <= MAX_OF_SYSTEM * 3
