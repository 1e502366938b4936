"""Where modules of POSIX are missing, every command works as on Linux, or ends with one sentence and exit code 2."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.platforms.simulated import environment, run_on
from tests.servers import ROOT, Cluster, ClusterFactory
from tests.support.deployment import add_stream

BOTH = ("windows", "macos")
LOG = ROOT / "fixtures" / "logs" / "2.15.1" / "c1-n1.log"
CAPTURE = ROOT / "fixtures" / "captures" / "lab-black-hole.client.pcap.gz"
NO_LOCKS = "this system has no POSIX file locks"

OFFLINE: tuple[tuple[str, ...], ...] = (
    ("explain", "JSD403"),
    ("rules", "validate"),
    ("config", "show"),
    ("diagnose", "nats: wrong last sequence: 5123"),
    ("check", "--logs", str(LOG), "--format", "json"),
    ("audit", "--engine", "local", str(LOG), "--format", "json"),
    ("check", "--pcap", str(CAPTURE), "--format", "json"),
)
"""Commands without a server that give the same everywhere."""


@pytest.fixture
def faulty(shared_cluster: ClusterFactory) -> Cluster:
    """A server with a fault that `fix` can fix, and with names that no code page of Windows has."""
    cluster = shared_cluster(nodes=1)

    async def plant() -> None:
        client: Client = await nats.connect(cluster.servers("app"))
        await client.request("$JS.API.STREAM.DELETE.FLOW_流れ", b"", timeout=10)
        small = {"max_bytes": 1 << 20, "max_msg_size": 1000}
        await add_stream(client, "FLOW_流れ", subjects=["flow"], duplicate_window=10**8, **small)
        await client.close()

    asyncio.run(plant())
    return cluster


def login(cluster: Cluster) -> tuple[str, ...]:
    return ("--isolated", "--samples", "1", "--server", cluster.url())


def outcomes(report: str) -> dict[str, object]:
    """What a report says, without times."""
    return {rule["code"]: rule["outcome"] for rule in json.loads(report)["rules"]}


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=() if number < 1 else pytest.mark.nightly) for number, command in enumerate(OFFLINE)],
)
@pytest.mark.parametrize("platform", ["windows", pytest.param("macos", marks=pytest.mark.nightly)])
def test_a_command_without_a_server_does_what_it_does_on_linux(
    platform: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "linux").mkdir()
    here = jsdoctor(*command, cwd=tmp_path / "linux")
    (tmp_path / "there").mkdir()
    there = run_on(platform, *command, cwd=tmp_path / "there")
    assert there.returncode == here.returncode, there.stderr
    if "json" in command:
        assert outcomes(there.stdout) == outcomes(here.stdout)
    else:
        assert len(there.stdout.splitlines()) == len(here.stdout.splitlines())


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.parametrize("platform", BOTH)
def test_check_and_capture_work(platform: str, faulty: Cluster, tmp_path: Path) -> None:
    here = jsdoctor("check", *login(faulty), "--format", "json", cwd=tmp_path)
    there = run_on(platform, "check", *login(faulty), "--format", "json", cwd=tmp_path)
    assert there.returncode == here.returncode == 0
    assert outcomes(there.stdout) == outcomes(here.stdout)
    text = run_on(platform, "check", *login(faulty), cwd=tmp_path)
    assert "FLOW_" in text.stdout
    saved = run_on(platform, "capture", *login(faulty), "-o", "saved.zip", cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    replayed = run_on(platform, "check", "--bundle", "saved.zip", "--isolated", "-o", "report.html", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "FLOW_流れ" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.real
def test_windows_plans_fixes_and_applies_none(faulty: Cluster, tmp_path: Path) -> None:
    planned = run_on("windows", "fix", *login(faulty), "--select", "JSD301", cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    assert "a plan of 1 step" in planned.stdout
    refused = run_on("windows", "fix", "--apply", "--yes", "--allow", "disruptive", *login(faulty), cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.count(NO_LOCKS) == 1
    assert "Linux or macOS" in refused.stderr
    (tmp_path / "j.jsonl").write_text("{}\n")
    undone = run_on("windows", "rollback", "j.jsonl", "--yes", *login(faulty)[:1], *login(faulty)[3:], cwd=tmp_path)
    assert undone.returncode == 2, undone.stderr
    assert NO_LOCKS in undone.stderr


@pytest.mark.real
@pytest.mark.nightly
def test_macos_applies_fixes_and_rolls_back(faulty: Cluster, tmp_path: Path) -> None:
    apply = ("fix", "--apply", "--yes", "--allow", "disruptive", "--select", "JSD301", "--journal", "j.jsonl")
    done = run_on("macos", *apply, *login(faulty), "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [step["ending"] for step in json.loads(done.stdout)["steps"]] == ["verified"]
    undone = run_on("macos", "rollback", "j.jsonl", "--yes", "--isolated", "--server", faulty.url(), cwd=tmp_path)
    assert undone.returncode == 0, undone.stderr


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.parametrize("platform", BOTH)
def test_demo_works_and_leaves_nothing_behind(platform: str, tmp_path: Path) -> None:
    done = run_on(platform, "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.parametrize("platform", BOTH)
def test_watch_without_a_terminal_of_unix_writes_lines(platform: str, faulty: Cluster, tmp_path: Path) -> None:
    done = run_on(platform, "watch", *login(faulty), "--every", "1s", "--for", "2s", cwd=tmp_path)
    assert done.returncode in {0, 1}, done.stderr


def test_the_simulation_takes_away_what_it_declares(tmp_path: Path) -> None:
    """Otherwise all of the above would pass without a reason."""
    (tmp_path / "jsdoctor").mkdir()
    (tmp_path / "jsdoctor" / "__init__.py").write_text("")
    (tmp_path / "jsdoctor" / "probe.py").write_text(
        "import os, signal, socket, sys\n"
        "missing = [name for module, name in ((os, 'fchmod'), (signal, 'SIGKILL'), (socket, 'AF_PACKET'))"
        " if not hasattr(module, name)]\n"
        "try:\n    import fcntl\nexcept ImportError:\n    missing.append('fcntl')\n"
        "print(sys.platform, *missing)\n"
    )
    for platform, expected in (("windows", "win32 fchmod SIGKILL AF_PACKET fcntl"), ("macos", "darwin AF_PACKET")):
        done = subprocess.run(
            [sys.executable, "-c", "import jsdoctor.probe"],
            cwd=tmp_path,
            env=environment(platform),
            capture_output=True,
            check=False,
        )
        assert done.stdout.decode().strip() == expected, done.stderr
