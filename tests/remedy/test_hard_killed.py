"""Hard actions of several writes, killed at each point of what they write, and resumed: all of it is done, once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jsdoctor.remedy.api import ApiError
from jsdoctor.remedy.backup.files import require_verified
from jsdoctor.remedy.backup.take import take
from tests.cli.invoke import jsdoctor
from tests.remedy.asking import PlainApi, with_api
from tests.remedy.test_hard_actions import BOUNDS, give_up, publish
from tests.servers import DEFAULT_VERSION, ROOT, Cluster, ClusterFactory
from tests.support.deployment import add_stream

pytestmark = pytest.mark.real


async def gone(to: PlainApi, *streams: str) -> None:
    for stream in streams:
        try:
            await to.ask(f"STREAM.DELETE.{stream}")
        except ApiError as error:
            assert error.err_code == 10059  # noqa: PT017 - it was not there


@dataclass(frozen=True)
class Case:
    """A fault, what is asked for, and what must be so in the end, however often it was interrupted."""

    plant: Callable[[Cluster, PlainApi, Path], Awaitable[None]]
    words: tuple[str, ...]
    settled: Callable[[PlainApi, Path], Awaitable[None]]
    points: int
    version: str = DEFAULT_VERSION


async def plant_queue(cluster: Cluster, to: PlainApi, directory: Path) -> None:
    await gone(to, "JOBS", "DEAD")
    await add_stream(to.client, "DEAD", subjects=["dead.>"], **BOUNDS)
    await give_up(to, cluster, "JOBS", retention="workqueue")


async def all_moved(to: PlainApi, directory: Path) -> None:
    assert (await to.ask("STREAM.INFO.JOBS"))["state"]["messages"] == 0
    state = (await to.ask("STREAM.INFO.DEAD"))["state"]
    assert (state["messages"], state["last_seq"]) == (3, 3)


async def plant_consumer(cluster: Cluster, to: PlainApi, directory: Path) -> None:
    await gone(to, "ORDERS")
    await give_up(to, cluster, "ORDERS")


async def recreated(to: PlainApi, directory: Path) -> None:
    info = await to.ask("CONSUMER.INFO.ORDERS.worker")
    assert (info["num_pending"], info["config"]["opt_start_seq"], info["config"]["max_deliver"]) == (3, 2, 2)


async def plant_kept(cluster: Cluster, to: PlainApi, directory: Path) -> None:
    await gone(to, "KEPT")
    await add_stream(to.client, "KEPT", subjects=["kept"], max_bytes=8 << 20)
    await publish(to, "kept", 20)
    (directory / "good").mkdir()
    await take(to, "KEPT", directory / "good")
    config = (await to.ask("STREAM.INFO.KEPT"))["config"]
    await to.ask("STREAM.UPDATE.KEPT", {**config, "max_bytes": -1, "max_age": 0})
    await to.ask("STREAM.PURGE.KEPT", {"keep": 5})


async def restored(to: PlainApi, directory: Path) -> None:
    info = await to.ask("STREAM.INFO.KEPT")
    assert (info["config"]["max_bytes"], info["state"]["messages"]) == (8 << 20, 20)
    assert require_verified(max(directory.glob("backup-KEPT-*"))).messages == 5  # noqa: ASYNC240 - nothing waits


CASES = {
    "dead letters": Case(
        plant_queue,
        ("--select", "JSD409", "--remedy", "JSD409=consumer.keep_dead_letters,into=DEAD,seqs=1+2+3"),
        all_moved,
        50,
    ),
    "recreate": Case(
        plant_consumer, ("--select", "JSD409", "--remedy", "JSD409=consumer.recreate,seq=2"), recreated, 19, "2.12.8"
    ),
    "restore": Case(plant_kept, ("--select", "JSD601", "--remedy", "JSD601=stream.restore,backup=good"), restored, 36),
}
IN_CI = {("restore", 26)}
"""The stream is deleted, and not made again."""
EVERY = [
    pytest.param(name, point, marks=() if (name, point) in IN_CI else pytest.mark.nightly)
    for name, case in CASES.items()
    for point in range(1, case.points + 1)
]


def halted(cluster: Cluster, cwd: Path, point: str, case: Case) -> subprocess.CompletedProcess[str]:
    words = ("fix", *case.words, "--interval", "200ms", "--apply", "--yes", "--allow", "destructive", "-q")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NATS_")}
    return subprocess.run(
        [
            *(sys.executable, "-m", "tests.remedy.halted", point, *words, "--isolated"),
            *("--server", cluster.url(), "--journal", "j.jsonl"),
        ],
        cwd=cwd,
        env={**clean, "XDG_CONFIG_HOME": str(cwd), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_the_points_are_all_that_there_are(shared_cluster: ClusterFactory, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    cluster = shared_cluster(case.version, 1, extra_config="# killed\n")
    with_api(cluster.url(), lambda to: case.plant(cluster, to, tmp_path))
    done = halted(cluster, tmp_path, "NONE", case)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(line.startswith("point ") for line in done.stderr.splitlines()) == case.points, done.stderr
    with_api(cluster.url(), lambda to: case.settled(to, tmp_path))


@pytest.mark.parametrize(("name", "point"), EVERY)
def test_killed_and_resumed(shared_cluster: ClusterFactory, name: str, point: int, tmp_path: Path) -> None:
    case = CASES[name]
    cluster = shared_cluster(case.version, 1, extra_config="# killed\n")
    with_api(cluster.url(), lambda to: case.plant(cluster, to, tmp_path))
    done = halted(cluster, tmp_path, f"KILL:{point}", case)
    assert done.returncode == -9, done.stdout + done.stderr
    resumed = jsdoctor(
        *("fix", "--isolated", "--resume", "--yes", "--journal", "j.jsonl", "--interval", "200ms"),
        *("--server", cluster.url()),
        cwd=tmp_path,
        timeout=120,
    )
    if point <= 2:
        assert resumed.returncode == 2, resumed.stderr  # the journal holds no plan yet: nothing was begun
        return
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    with_api(cluster.url(), lambda to: case.settled(to, tmp_path))
