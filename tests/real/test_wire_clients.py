"""Every condition of the NATS layer is named on the real traffic of three client libraries."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.sources.packets.files import read_captures
from tests.clients.play import CONDITIONS, PAUSE, PLAY, RESUME, Seen, failed
from tests.servers import ROOT, Cluster, ClusterFactory
from tests.support.packet_cases import only_packets
from tests.support.ruleset import run_all
from tools.record_captures import capturing, ports_of

CLIENTS = ROOT / "tests" / "clients"
CACHE = ROOT / ".cache" / "clients"
_USER = """
PLAYERS {
  jetstream: enabled
  users: [{user: player, password: player, permissions: {publish: {deny: ["forbidden.>"]}}}]
}
"""


def built(library: str) -> list[str]:
    """The command that plays with this library; skips where its tools are missing."""
    if library == "nats-py":
        return [sys.executable, "-m", "tests.clients.python_client"]
    tool = "go" if library == "nats.go" else "npm"
    if not shutil.which(tool):
        pytest.skip(f"{library} needs {tool}, which is not on PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    if library == "nats.go":
        binary = CACHE / "nats-go"
        subprocess.run(["go", "build", "-o", str(binary), "."], cwd=CLIENTS / "go", check=True, timeout=600)
        return [str(binary)]
    shutil.copytree(CLIENTS / "js", CACHE / "js", dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=CACHE / "js", check=True, timeout=600)
    return ["node", str(CACHE / "js" / "client.mjs")]


@contextmanager
def _player(command: list[str], url: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*command, url, "player", "player"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def play(cluster: Cluster, command: list[str], url: str) -> list[dict[str, str]]:
    """Play everything; what the client answered to each step."""
    answers = []
    with _player(command, url) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for step in PLAY:
            if step.get("test") == PAUSE:
                cluster.pause("n1")
            elif step.get("test") == RESUME:
                cluster.resume("n1")
            elif "test" in step:
                time.sleep(step["seconds"])
            else:
                process.stdin.write(json.dumps(step) + "\n")
                process.stdin.flush()
                answers.append(json.loads(process.stdout.readline()) | {"step": json.dumps(step)})
    return answers


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.parametrize("library", ["nats-py", "nats.go", "nats.js"])
def test_every_condition_is_named(cluster_factory: ClusterFactory, tmp_path: Path, library: str) -> None:
    if os.geteuid() or not shutil.which("tcpdump"):
        pytest.skip("capturing needs tcpdump and root")
    command = built(library)
    cluster = cluster_factory(accounts=_USER, extra_config="")
    (port,) = ports_of(cluster, "client")
    capture = tmp_path / "capture.pcap"
    with capturing(capture, [port]):
        answers = play(cluster, command, f"nats://127.0.0.1:{port}")
    observer = NatsObserver()
    evidence = read_captures([capture], lambda _: observer)
    evidence = msgspec.structs.replace(evidence, nats=observer.traffic())
    results = run_all(only_packets(evidence)).results
    seen = Seen(failed(results), evidence)
    named = {name: check(seen) for name, check in CONDITIONS.items()}
    missing = [name for name, is_named in named.items() if not is_named]
    listing = "\n".join(f"{code} {text}" for code, texts in sorted(seen.findings.items()) for text in texts)
    problems = "\n".join(f"{answer['step']}: {answer['problem']}" for answer in answers if answer["problem"])
    sys.stdout.write(f"{library}: {sum(named.values())} of {len(named)} conditions are named\n")
    assert not missing, f"{missing}\n{listing}\n{problems}"
