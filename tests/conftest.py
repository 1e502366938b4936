"""Fixtures for every test: real servers and the real `nats` command. `tests/servers/__init__.py` is their manual."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.servers import VERSIONS, ClusterFactory, cluster_factories
from tests.servers.natscli import require_nats_cli

# No deadline: how long one example takes says more about the machine than about the code.
settings.register_profile("jsdoctor", deadline=None)
settings.load_profile("jsdoctor")


def pytest_configure() -> None:
    """Shells start what runs in the background deaf to SIGINT; so would be what tests start, and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cluster_factory(tmp_path: Path) -> Iterator[ClusterFactory]:
    """Launch fresh deployments for this test alone; all are killed when it ends, however it ends."""
    with cluster_factories(tmp_path) as launch:
        yield launch


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterFactory]:
    """Launch a deployment once per set of arguments and hand the same one out again. Never harm its nodes.

    They end with the module: idle servers exchange heartbeats, and twenty clusters of them use a whole processor.
    """
    with cluster_factories(tmp_path_factory.mktemp("shared"), reuse=True) as launch:
        yield launch


@pytest.fixture(params=VERSIONS)
def server_version(request: pytest.FixtureRequest) -> str:
    """Each supported nats-server version in turn."""
    version: str = request.param
    return version


@pytest.fixture(scope="session")
def nats_cli() -> Path:
    """The real `nats` command; see `require_nats_cli` for what happens without it."""
    return require_nats_cli()
