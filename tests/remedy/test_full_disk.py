"""Every action while the disk of the server is full, then resumed or rolled back: never anything between."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clock import ShiftClock
from tests.remedy.kill_matrix import ACTIONS, Json, Lab
from tests.remedy.test_kill_matrix import exact, figures, shape, wrong
from tests.servers import VERSIONS, Cluster, ClusterFactory
from tests.support.outage import small_disk

pytestmark = [pytest.mark.real, pytest.mark.nightly]
_MEGABYTES = 24
_BLOCK = 1 << 16


@contextlib.contextmanager
def full(store: Path) -> Iterator[None]:
    """The file system of the store without a free byte. Its files were written out before."""
    filler = store / "filler"
    handle = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (_BLOCK, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(handle, b"x" * size)
        yield
    finally:
        os.close(handle)
        filler.unlink()


def restart(cluster: Cluster) -> None:
    """Stop in order, which writes everything out, and start: a server that met a full disk has JetStream off."""
    cluster.stop("n1")
    cluster.start("n1")
    cluster.wait_ready()


def resumed(lab: Lab, cwd: Path, start: Json, after: Json) -> str:
    """What is wrong after a resumption. A step that was given up stays so: everything is as before, and it says so."""
    ended, now = lab.resume(cwd), lab.state()
    if ended.code == 1 and now == start:
        return ""
    return wrong(ended, shape(now), shape(after), exact=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name, action in ACTIONS.items() if 1 in action.nodes])
def test_the_disk_is_full(
    cluster_factory: ClusterFactory, shift_clock: ShiftClock, tmp_path: Path, name: str, version: str
) -> None:
    if tuple(map(int, version.split(".")[:2])) < ACTIONS[name].since:
        pytest.skip(f"{version} has no {name}")
    if name == "stream.update" and version < "2.14":
        pytest.skip("before 2.14 servers confirm an update that they could not write, and forget it when they start")
    store = tmp_path / "deployment-1" / "n1" / "store"
    failures: list[str] = []
    with small_disk(store, _MEGABYTES):
        cluster = cluster_factory(version, 1)
        (tmp_path / "lab").mkdir()
        lab = Lab(ACTIONS[name], cluster, tmp_path / "lab", shift_clock)
        with lab.trial() as cwd:
            applied = lab.apply(cwd)
            assert applied.code == 0, applied.output
            after = lab.state()
        for how in ("resume", "rollback"):
            with lab.trial() as cwd:
                restart(cluster)
                start = lab.state()
                with full(store):
                    met = lab.apply(cwd)
                restart(cluster)
                incident = resumed(lab, cwd, start, after) if how == "resume" else ""
                if how == "rollback":
                    incident = wrong(lab.rollback(cwd), lab.state(), start, exact=exact(name, version))
                if incident:
                    failures.append(f"{how}: {incident}\nwhen full: {met.output}")
        cluster.close()
    figures(f"{name}, {version}, full disk", failures, 2)
