"""The archive of logs that is measured on, and the measuring in its smallest form. No figure is judged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as program
from bench import log_peers
from bench.log_archive import MEGABYTE, ArchivePlan, write_archive
from bench.process import CannotMeasureError
from bench.process_tree import run_tree
from jsdoctor.app.rulebook import open_rulebook

TINY = ("--only", "logs", "--log-megabytes", "1", "--rounds", "1")


def content(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.log")}


def test_an_archive_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_archive(tmp_path / name, ArchivePlan(megabytes=1, seed=seed))
    assert content(tmp_path / "a") == content(tmp_path / "b") != content(tmp_path / "c")


def test_an_archive_has_the_requested_size_and_what_was_planted(tmp_path: Path) -> None:
    planted = write_archive(tmp_path, ArchivePlan(megabytes=6, servers=2, days=2))
    files = content(tmp_path)
    assert 0.85 < sum(map(len, files.values())) / (6 * MEGABYTE) < 1.15
    assert len(files) == 4
    lines = b"".join(files.values())
    starts = [incident for incident in planted if incident.kind in {"start", "restart", "crash"}]
    assert lines.count(b"[INF] Starting nats-server\n") == len(starts) > 2
    assert lines.count(b"[INF] Server Exiting..\n") == sum(incident.kind == "restart" for incident in planted)


def test_a_storm_is_a_third_of_the_lines(tmp_path: Path) -> None:
    write_archive(tmp_path, ArchivePlan(megabytes=2, storm=True))
    lines = b"".join(content(tmp_path).values()).splitlines()
    calm = (b"[TRC]", b"[DBG]", b"Route connection created")
    assert 0.3 < sum(not any(sign in line for sign in calm) for line in lines) / len(lines) < 0.5


def test_a_tree_is_measured_with_what_it_starts() -> None:
    inner = "import time; held = b'x' * 90_000_000; time.sleep(1)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    done = run_tree([sys.executable, "-c", code], cores=1)
    assert done.peak_bytes > 90_000_000
    assert done.seconds > 1
    with pytest.raises(CannotMeasureError, match="ended with 3"):
        run_tree([sys.executable, "-c", "import sys; sys.exit(3)"])


@pytest.mark.nightly
def test_logs(capsys: pytest.CaptureFixture[str]) -> None:
    if not any(rule.signatures for rule in open_rulebook().rules):
        pytest.skip("no rule page has signatures")
    assert program.main(TINY) == 0
    output = capsys.readouterr().out
    for name in ("plain read", "rg -c", "jsdoctor, one process", "jsdoctor, two processes", "jsdoctor, Spark"):
        assert f"  {name}" in output
    assert "a third of lines hit" in output


def test_what_is_missing_is_reported() -> None:
    assert log_peers.no_program("no-such-program") == "no no-such-program on this machine"
    assert log_peers.no_module("no_such_module") == "no_such_module is not installed in .cache/bench"
    assert not log_peers.no_program(sys.executable)


def test_peers_get_patterns_of_whole_lines() -> None:
    whole = log_peers.of_whole_lines(["^Server is ready", "nats: timeout", "^Catchup for (.+)"]).splitlines()
    line = "[12] 2026/11/21 10:00:00.000000 [INF] "
    assert [bool(re.search(whole[0], line + text)) for text in ("Server is ready", "Catchup for 1")] == [True, True]
    assert not re.search(whole[0], line + "not: Server is ready")
    assert whole[1:] == ["nats: timeout"]


def test_grep_counts_what_python_counts(tmp_path: Path) -> None:
    patterns = tmp_path / "patterns"
    lines = [r"RAFT \[([^ \]]+) - ([^\]]+)\] Falling behind", 'authentication error - User "(.+?)"', r"attempt (\d+)"]
    patterns.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_archive(tmp_path / "logs", ArchivePlan(megabytes=1))
    counted = subprocess.run(log_peers.grep(tmp_path / "logs", patterns), capture_output=True, text=True, check=True)
    text = [line for content_ in content(tmp_path / "logs").values() for line in content_.decode().splitlines()]
    expected = sum(any(re.search(pattern, line) for pattern in lines) for line in text)
    assert sum(int(line.rpartition(":")[2]) for line in counted.stdout.splitlines()) == expected > 20
