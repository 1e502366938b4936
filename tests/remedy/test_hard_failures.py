"""What goes wrong in the middle of a hard action: denied, no help, a lost leader. Nothing is lost, and it can go on."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.remedy.backup.take import take
from tests.cli.invoke import jsdoctor
from tests.remedy.asking import PlainApi, with_api
from tests.remedy.fixing import fix
from tests.remedy.test_hard_actions import BOUNDS, SECOND_NS, give_up, publish
from tests.servers import ROOT, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_consumer, add_stream, drain
from tests.support.site import Site

pytestmark = pytest.mark.real

HALF = """
  HALF {
    jetstream: enabled
    users: [
      {user: whole, password: whole}
      {user: half, password: half, permissions: {publish: {deny: [
        "$JS.API.CONSUMER.CREATE.ORDERS.worker", "$JS.API.STREAM.MSG.GET.KEPT"
      ]}}}
    ]
  }
"""


def undo(cluster: Cluster, directory: Path, user: str) -> subprocess.CompletedProcess[str]:
    where = ("--isolated", "--server", cluster.url(user))
    return jsdoctor("rollback", "journal.jsonl", "--yes", *where, cwd=directory, timeout=120)


@pytest.mark.nightly
def test_a_consumer_that_may_not_be_made_again_is_put_back_by_who_may(
    cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    cluster = cluster_factory("2.12.8", accounts=HALF)
    with_api(cluster.url("whole"), lambda to: give_up(to, cluster, "ORDERS"))
    words = ("--select", "JSD409", "--remedy", "JSD409=consumer.recreate,seq=1")
    done = fix(tmp_path, cluster.url("half"), *words)
    assert [step["ending"] for step in done["steps"]] == ["not taken back"], done["steps"]
    assert "Permissions Violation" in done["steps"][0]["failure"]
    # Before 2.14 a consumer goes on where it was only with another start, and that difference is told.
    undone = undo(cluster, tmp_path, "whole")
    assert (undone.returncode, "opt_start_seq" in undone.stdout) == (1, True), undone.stdout

    async def verify(to: PlainApi) -> None:
        info = await to.ask("CONSUMER.INFO.ORDERS.worker")
        acked = info["config"].get("opt_start_seq", 1) - 1
        assert acked in (0, 4)  # whether messages that were given up count, servers see differently
        assert info["num_pending"] == 4 - acked

    with_api(cluster.url("whole"), verify)


async def keep(to: PlainApi, directory: Path, **config: Any) -> None:
    """A stream, a verified backup of it, and a change that a restore takes back."""
    await add_stream(to.client, "KEPT", subjects=["kept"], max_bytes=8 << 20, **config)
    await publish(to, "kept", 20)
    (directory / "good").mkdir()
    await take(to, "KEPT", directory / "good")
    now = (await to.ask("STREAM.INFO.KEPT"))["config"]
    await to.ask("STREAM.UPDATE.KEPT", {**now, "max_bytes": -1})


RESTORE = ("--select", "JSD601", "--remedy", "JSD601=stream.restore,backup=good")


def test_without_a_verified_backup_nothing_is_destroyed(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """Who may take a backup and not read messages cannot verify it."""
    cluster = cluster_factory(accounts=HALF)
    with_api(cluster.url("whole"), lambda to: keep(to, tmp_path))
    before = with_api(cluster.url("whole"), lambda to: to.ask("STREAM.INFO.KEPT"))
    done = fix(tmp_path, cluster.url("half"), *RESTORE)
    first, second = done["steps"]
    assert (first["action"], second["ending"]) == ("stream.backup", "not begun"), done["steps"]
    assert "Permissions Violation" in first["failure"] + first["text"], first
    after = with_api(cluster.url("whole"), lambda to: to.ask("STREAM.INFO.KEPT"))
    assert (after["created"], after["config"], after["state"]) == (before["created"], before["config"], before["state"])


@pytest.mark.nightly
def test_a_reset_that_does_not_help_is_taken_back(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()

    async def plant(to: PlainApi) -> None:
        await add_stream(to.client, "ORDERS", subjects=["ORDERS"], **BOUNDS)
        await add_consumer(to.client, "ORDERS", "worker", ack_wait=SECOND_NS // 20)
        await publish(to, "ORDERS", 5)
        assert await Site.of(cluster, "", to.client).fetch("ORDERS", "worker", 3) == 3

    with_api(cluster.url(), plant)
    words = ("--select", "JSD410", "--remedy", "JSD410=consumer.reset,seq=1", "--patience", "1s")
    done = fix(tmp_path, cluster.url(), *words)
    (step,) = done["steps"]
    assert (step["ending"], step["failure"][:15]) == ("taken back", "it did not help"), step
    assert with_api(cluster.url(), lambda to: to.ask("CONSUMER.INFO.ORDERS.worker"))["num_pending"] == 2
    assert with_api(cluster.url(), lambda to: drain(to.client, "ORDERS", "worker")) == 2


@pytest.mark.nightly
def test_a_leader_is_lost_while_a_stream_is_restored(
    cluster_factory: ClusterFactory, server_version: str, tmp_path: Path
) -> None:
    """The stream is deleted and not made again when the meta leader dies."""
    cluster = cluster_factory(server_version, 3)
    with_api(cluster.url(), lambda to: keep(to, tmp_path, num_replicas=3))
    after_delete, leader = 25, str(cluster.meta_leader())
    others = ",".join(url for url, name in zip(cluster.servers(), cluster.names, strict=True) if name != leader)
    command = [sys.executable, "-m", "tests.remedy.halted", f"STOP:{after_delete}", "fix", *RESTORE, "--isolated"]
    with subprocess.Popen(
        [*command, "--server", others, "--apply", "--yes", "--allow", "destructive", "--journal", "j.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            cluster.kill(leader)
            os.kill(process.pid, signal.SIGCONT)
            _, output = process.communicate(timeout=180)
        finally:
            process.kill()
    assert f"point {after_delete} after $JS.API.STREAM.DELETE.KEPT" in output
    # Where it waited for the next leader, there is nothing left to do.
    resume = ("fix", "--isolated", "--resume", "--yes", "--journal", "j.jsonl", "--server", others)
    wait_until(
        lambda: jsdoctor(*resume, cwd=tmp_path, timeout=240).returncode == 0,
        "a resumed fix to come to its end",
        timeout=240,
        interval=1,
    )
    info = with_api(others, lambda to: to.ask("STREAM.INFO.KEPT"))
    assert (info["state"]["messages"], info["config"]["max_bytes"]) == (20, 8 << 20)
