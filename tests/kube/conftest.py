"""The servers that pods of Kubernetes are said to run."""

import pytest

from tests.servers import Cluster, ClusterFactory


@pytest.fixture(scope="module")
def nats(shared_cluster: ClusterFactory) -> Cluster:
    return shared_cluster("2.15.1", 3)
