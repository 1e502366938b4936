"""A fix that is killed at any point of what it writes is resumed to its end, or rolled back to where it began."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.real.fixing import config_of, fix, rollback, with_client
from tests.servers import DEFAULT_VERSION, ROOT, Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

SECOND_NS = 1_000_000_000
RULES = ("--select", "JSD301,JSD410")
ASSETS = (("KILLED", ""), ("KILLED", "hasty"))
POINTS = 25
"""Seven lines of the journal of two steps, three points to each; two writes, two points to each."""
IN_CI = (5, 8)
"""Half of `begin`; after the write, of which the journal then knows nothing."""
EVERY = [pytest.param(number, marks=() if number in IN_CI else pytest.mark.nightly) for number in range(1, POINTS + 1)]


@pytest.fixture
def cluster(shared_cluster: ClusterFactory) -> Cluster:
    furnished = shared_cluster(DEFAULT_VERSION, 1, extra_config="# killed\n")
    with_client(furnished, plant)
    return furnished


async def plant(client: Client) -> None:
    await client.request("$JS.API.STREAM.DELETE.KILLED", b"", timeout=10)
    small = {"max_bytes": 1 << 20, "max_msg_size": 1000}
    await add_stream(client, "KILLED", subjects=["killed"], duplicate_window=SECOND_NS // 10, **small)
    await add_consumer(client, "KILLED", "hasty", ack_wait=SECOND_NS // 20)
    await client.request("killed", b"x", timeout=10)


def halted(cluster: Cluster, cwd: Path, point: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`jsdoctor …` that is halted there."""
    command = [sys.executable, "-m", "tests.remedy.halted", point, *arguments, "--isolated"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NATS_")}
    return subprocess.run(
        [*command, "--server", cluster.url("app")],
        cwd=cwd,
        env={**clean, "XDG_CONFIG_HOME": str(cwd), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


APPLY = ("fix", *RULES, "--samples", "1", "--apply", "--yes", "--journal", "j.jsonl", "-q")


def configs(cluster: Cluster) -> list[bytes]:
    return [config_of(cluster, *asset) for asset in ASSETS]


@pytest.fixture
def fixed(cluster: Cluster, tmp_path: Path) -> list[bytes]:
    """What an undisturbed fix makes of it; then the faults are planted again."""
    return _fixed(cluster)


@cache
def _fixed(cluster: Cluster) -> list[bytes]:
    directory = Path(cluster.directory) / "undisturbed"
    directory.mkdir(exist_ok=True)
    done = halted(cluster, directory, "NONE", *APPLY)
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith("point ") for line in done.stderr.splitlines()) == POINTS
    fixed = configs(cluster)
    with_client(cluster, plant)
    return fixed


@pytest.mark.parametrize("point", EVERY)
def test_killed_then_resumed(cluster: Cluster, fixed: list[bytes], tmp_path: Path, point: int) -> None:
    before = configs(cluster)
    done = halted(cluster, tmp_path, f"KILL:{point}", *APPLY)
    assert done.returncode == -9, done.stderr
    resumed = fix(cluster, tmp_path, "--resume", "--yes", "--journal", "j.jsonl")
    if resumed.returncode == 2:
        assert "holds no plan" in resumed.stderr or "No such file" in resumed.stderr
        assert point <= 2
        assert configs(cluster) == before
    else:
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        assert configs(cluster) == fixed


@pytest.mark.parametrize("point", EVERY)
def test_killed_then_rolled_back(cluster: Cluster, tmp_path: Path, point: int) -> None:
    before = configs(cluster)
    assert halted(cluster, tmp_path, f"KILL:{point}", *APPLY).returncode == -9
    done = rollback(cluster, tmp_path)
    assert done.returncode == (0 if point > 2 else 2), done.stdout + done.stderr
    assert configs(cluster) == before


@pytest.mark.nightly
@pytest.mark.parametrize("point", range(1, 17))
def test_a_rollback_that_is_killed_can_be_run_again(cluster: Cluster, tmp_path: Path, point: int) -> None:
    """Two steps: `undo` and `undone` to each, and one write each."""
    before = configs(cluster)
    assert halted(cluster, tmp_path, "NONE", *APPLY).returncode == 0
    assert halted(cluster, tmp_path, f"KILL:{point}", "rollback", "j.jsonl", "--yes").returncode == -9
    done = rollback(cluster, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert configs(cluster) == before


@pytest.mark.nightly
def test_two_processes_do_not_share_a_journal(cluster: Cluster, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.remedy.halted", "STOP:7", *APPLY, "--isolated"]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, "--server", cluster.url("app")],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as first:
        try:
            os.waitid(os.P_PID, first.pid, os.WSTOPPED)
            second = fix(cluster, tmp_path, "--resume", "--yes", "--journal", "j.jsonl")
        finally:
            first.kill()
    assert second.returncode == 2
    assert "another jsdoctor works with the journal" in second.stderr
