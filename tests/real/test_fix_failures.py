"""What goes wrong in the middle of a fix: denied, no help, a lost server, a lost leader. Nothing is left half done."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.real.fixing import apply, config_of, events, fix, rollback
from tests.servers import DEFAULT_VERSION, ROOT, Cluster, ClusterFactory
from tests.support.deployment import add_stream
from tests.support.outage import with_client

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

SECOND_NS = 1_000_000_000
HALF = """
  HALF {
    jetstream: enabled
    users: [
      {user: half, password: half, permissions: {publish: {deny: ["$JS.API.STREAM.UPDATE.DENIED"]}}}
    ]
  }
"""
SMALL: dict[str, Any] = {"max_bytes": 1 << 20, "max_msg_size": 1000}


async def plant(client: Client) -> None:
    """Two streams with the same fault."""
    for name in ("ALLOWED", "DENIED"):
        await client.request(f"$JS.API.STREAM.DELETE.{name}", b"", timeout=10)
        await add_stream(client, name, subjects=[name.lower()], duplicate_window=SECOND_NS // 10, **SMALL)


@pytest.fixture
def cluster(shared_cluster: ClusterFactory) -> Cluster:
    return shared_cluster(DEFAULT_VERSION, 1, accounts=HALF)


def test_denied_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    """The first step stays, as it was proved; of the second nothing is left, and the journal can take all back."""
    with_client(cluster, plant, user="half")

    def configs() -> list[bytes]:
        async def read_configs(client: Client) -> list[bytes]:
            replies = [await client.request(f"$JS.API.STREAM.INFO.{s}", timeout=10) for s in ("ALLOWED", "DENIED")]
            return [json.dumps(json.loads(reply.data)["config"]).encode() for reply in replies]

        return with_client(cluster, read_configs, user="half")

    before = configs()
    ended = apply(cluster, tmp_path, "--select", "JSD301", user="half")
    assert [step["ending"] for step in ended] == ["verified", "taken back"]
    assert "Permissions Violation" in ended[1]["failure"]
    after = configs()
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert rollback(cluster, tmp_path, user="half").returncode == 0
    assert configs() == before


def test_what_does_not_help_is_taken_back(cluster: Cluster, tmp_path: Path) -> None:
    """A choice that cures nothing."""
    with_client(cluster, plant)
    before = config_of(cluster, "ALLOWED")
    chosen = ("--select", "JSD301", "--remedy", "JSD301=stream.set_discard,discard=new")
    ended = apply(cluster, tmp_path, *chosen, "--allow", "disruptive", "--patience", "1s")
    assert [step["ending"] for step in ended] == ["taken back", "not begun"]
    assert ended[0]["failure"].startswith("it did not help: JSD301: ids of messages are forgotten")
    assert config_of(cluster, "ALLOWED") == before
    assert [event for event, _ in events(tmp_path / "j.jsonl")] == [
        *("plan", "begin", "written", "failed", "undo", "undone")
    ]
    again = fix(cluster, tmp_path, "--resume", "--yes", "--journal", "j.jsonl", "--format", "json")
    assert again.returncode == 1, "what was taken back because it failed is not mended"
    first = json.loads(again.stdout)["steps"][0]
    assert (first["ending"], first["failure"]) == ("taken back", ended[0]["failure"])


@contextmanager
def halted(
    cluster: Cluster, cwd: Path, point: int, *arguments: str, how: str = "STOP"
) -> Iterator[subprocess.Popen[str]]:
    """A fix that waits at a point, to be continued by SIGCONT, or is killed there."""
    command = [sys.executable, "-m", "tests.remedy.halted", f"{how}:{point}", "fix", *arguments, "--isolated"]
    with subprocess.Popen(
        [*command, "--server", cluster.url("app"), "--apply", "--yes", "--journal", "j.jsonl", "--format", "json"],
        cwd=cwd,
        env={**os.environ, "XDG_CONFIG_HOME": str(cwd), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            if how == "STOP":
                os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            yield process
        finally:
            process.kill()


HALF_OF_BEGIN, BEFORE_THE_WRITE, AFTER_THE_WRITE = 5, 7, 8
"""Points of `tests.remedy.halted`: three lines' worth of `plan` and `begin`, then the request."""


@pytest.mark.parametrize("point", [HALF_OF_BEGIN, AFTER_THE_WRITE])
@pytest.mark.parametrize("resumed", [True, False])
def test_a_killed_fix_is_resumed_or_rolled_back(cluster: Cluster, tmp_path: Path, point: int, resumed: bool) -> None:
    """At all other points: tests/remedy/test_kill_matrix.py."""
    with_client(cluster, plant)
    before = config_of(cluster, "ALLOWED")
    with halted(cluster, tmp_path, point, "--select", "JSD301", "--samples", "1", how="KILL") as process:
        process.communicate(timeout=120)
    assert process.returncode == -9
    if resumed:
        assert fix(cluster, tmp_path, "--resume", "--yes", "--journal", "j.jsonl").returncode == 0
        for stream in ("ALLOWED", "DENIED"):
            assert json.loads(config_of(cluster, stream))["duplicate_window"] == 120 * SECOND_NS
    else:
        assert rollback(cluster, tmp_path).returncode == 0
        assert config_of(cluster, "ALLOWED") == before


@pytest.mark.nightly
def test_an_interrupt_leaves_a_journal_to_go_on_with(cluster: Cluster, tmp_path: Path) -> None:
    with_client(cluster, plant)
    before = config_of(cluster, "ALLOWED")
    with halted(cluster, tmp_path, AFTER_THE_WRITE, "--select", "JSD301", "--step", "1", "--samples", "1") as process:
        os.kill(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGCONT)
        _, output = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert " j.jsonl" in output.partition("undo: jsdoctor rollback -s ")[2]
    assert rollback(cluster, tmp_path).returncode == 0
    assert config_of(cluster, "ALLOWED") == before


@pytest.mark.parametrize("point", [pytest.param(BEFORE_THE_WRITE, marks=pytest.mark.nightly), AFTER_THE_WRITE])
def test_the_server_is_lost_in_the_middle(cluster_factory: ClusterFactory, tmp_path: Path, point: int) -> None:
    cluster = cluster_factory(DEFAULT_VERSION, 1)
    with_client(cluster, plant)
    before = config_of(cluster, "ALLOWED")
    with halted(cluster, tmp_path, point, "--select", "JSD301", "--step", "1", "--samples", "1") as process:
        cluster.kill("n1")
        os.kill(process.pid, signal.SIGCONT)
        _, output = process.communicate(timeout=120)
    assert process.returncode == 3, output
    assert " --resume --journal j.jsonl" in output.partition("go on: jsdoctor fix -s ")[2]
    cluster.start("n1")
    done = fix(cluster, tmp_path, "--resume", "--yes", "--journal", "j.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(config_of(cluster, "ALLOWED"))["duplicate_window"] == 120 * SECOND_NS
    untouched = json.loads(config_of(cluster, "DENIED"))["duplicate_window"]
    assert untouched == SECOND_NS // 10, "a resumed fix takes the steps that were asked for, and no others"
    assert rollback(cluster, tmp_path).returncode == 0
    assert config_of(cluster, "ALLOWED") == before
