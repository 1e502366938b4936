"""Fixtures for every test: real servers and the real `nats` command. `tests/servers/__init__.py` is their manual."""

import gc
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.clock import ShiftClock, clock_shifter
from tests.servers import VERSIONS, ClusterFactory, cluster_factories
from tests.servers.clients import close_abandoned_connections
from tests.servers.natscli import require_nats_cli
from tests.servers.ports import use_own_ports
from tests.servers.versions import parameter_version
from tests.support.rule_groups import rule_of

# No deadline: how long one example takes says more about the machine than about the code.
settings.register_profile("jsdoctor", deadline=None, max_examples=30)
settings.load_profile("jsdoctor")


def pytest_configure() -> None:
    """Undo what disturbs tests: shells make background jobs ignore SIGINT, and nats-py leaves sockets open.

    Processes of one run have ports of their own.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    close_abandoned_connections()
    use_own_ports()


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not visit them each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Give the tests of one rule to one worker, which reads their cases once."""
    from tests.support.scheduling import scheduling  # noqa: PLC0415  # only where the plugin is in use

    return scheduling(config, log)


_SLOW = {"faults", "healthy", "real", "cli", "remedy", "sources", "spark"}
"""Directories of tests that mostly wait for servers."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Choose versions for slow tests, and mix modules that wait with those that compute."""
    _leave_versions_to_nightly(items)
    yield
    items[:] = _mixed(items)


def _mixed(items: list[pytest.Item]) -> list[pytest.Item]:
    """After each module that waits its share of the others, so that processors have work while servers start.

    The tests of each rule stay together. Long modules come first, as a run that ends with one leaves workers idle:
    those of faults, and those with many tests.
    """
    waiting: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    computing: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups = waiting if _SLOW & set(item.path.parts) else computing
        groups[rule_of(item.nodeid) or str(item.path)].append(item)
    others, mixed = sorted(computing.values(), key=len, reverse=True), list[pytest.Item]()
    for place, (_, group) in enumerate(sorted(waiting.items(), key=lambda named: "faults" not in named[0])):
        share = others[len(others) * place // len(waiting) : len(others) * (place + 1) // len(waiting)]
        mixed += [*group, *(item for other in share for item in other)]
    return mixed or [item for other in others for item in other]


def _leave_versions_to_nightly(items: list[pytest.Item]) -> None:
    """In `make test`, a test of real servers runs on the newest of its versions; `make nightly` runs the others.

    Modules that say `every_version` are the exception: what they hold is worth the time on each server.
    """
    of_one_function: defaultdict[str, list[tuple[int, pytest.Item]]] = defaultdict(list)
    for item in items:
        version = parameter_version(item)
        if version and item.get_closest_marker("real") and item.get_closest_marker("every_version") is None:
            of_one_function[item.nodeid.partition("[")[0]].append((VERSIONS.index(version), item))
    for versions in of_one_function.values():
        newest = max(index for index, _ in versions)
        for index, item in versions:
            if index < newest:
                item.add_marker(pytest.mark.nightly)


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


@pytest.fixture(scope="module")
def shift_clock(tmp_path_factory: pytest.TempPathFactory) -> ShiftClock:
    """What sets the clock of a process wrong."""
    return clock_shifter(tmp_path_factory.mktemp("clock"))
