"""`--this-host` beside a real server: its volume, its open files, the clock of the kernel; live and from a bundle."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.host import HostFacts, HostReading, ServerProcess
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.host import read_host, volume_of
from tests.cli.invoke import jsdoctor
from tests.servers import DEFAULT_VERSION, server_binary, wait_until

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform != "linux", reason="--this-host reads /proc")]
NAME = "looked-at"
RULES = "JSD827,JSD828,JSD829,JSD830,JSD103"
Json = dict[str, Any]


@contextmanager
def a_server(directory: Path, store: str) -> Iterator[tuple[str, int]]:
    """Its URL and process number. The configuration names the store by a path of its own working directory."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (directory / "more.conf").write_text(f'server_name: {NAME}\njetstream {{ store_dir: "{store}" }}\n')
    (directory / "server.conf").write_text(f"listen: 127.0.0.1:{port}\ninclude more.conf\n")
    words: list[str | Path] = [server_binary(DEFAULT_VERSION), "-c", "server.conf", "-l", "server.log"]
    with subprocess.Popen(words, cwd=directory) as process:
        try:
            wait_until(lambda: _is_ready(directory / "server.log"), "the server", timeout=20)
            yield f"nats://127.0.0.1:{port}", process.pid
        finally:
            process.kill()


@contextmanager
def a_small_volume(place: Path) -> Iterator[None]:
    """A file system of 8 MB, in memory."""
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=False)
    if done.returncode:
        pytest.skip("this user cannot mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def judged(tmp_path: Path, *words: str) -> dict[str, Json]:
    """What the rules about hosts say of the server, by code; passed with -vv."""
    select = ("--isolated", "--select", RULES, "--format", "json", "-vv")
    report = json.loads(jsdoctor("check", *words, *select, cwd=tmp_path).stdout)
    return {result["code"]: result for result in report["results"] if result["subject"]["name"] == NAME}


def test_a_full_volume_in_memory_and_few_files_live_and_from_a_bundle(tmp_path: Path) -> None:
    with a_small_volume(tmp_path / "data"), a_server(tmp_path, "data") as (url, pid):
        results = judged(tmp_path, "-s", url, "--this-host", "--interval", "100ms")
        assert {code: result["outcome"] for code, result in results.items()} == {
            "JSD827": "fail",
            "JSD828": "pass",
            "JSD829": "pass",
        }
        assert results["JSD827"]["severity"] == "info"
        (tmp_path / "data" / "others").write_bytes(bytes(8_350_000))
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_files = next(s for s in _processes() if s.pid == pid).open_files
        assert open_files
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files + 2, hard))
        capture = ("capture", "-o", "b.zip", "-s", url, "--this-host", "--interval", "100ms", "--isolated")
        assert jsdoctor(*capture, cwd=tmp_path).returncode in (0, 3)
        live = judged(tmp_path, "-s", url, "--this-host", "--interval", "100ms")
    kept = judged(tmp_path, "--bundle", "b.zip")
    for results in (live, kept):
        assert {code: (result["outcome"], result["severity"]) for code, result in results.items()} == {
            "JSD827": ("fail", "info"),
            "JSD828": ("fail", "error"),
            "JSD829": ("fail", "warning"),
        }


def test_a_server_that_does_not_respond_does_not_hide_its_host(tmp_path: Path) -> None:
    with a_small_volume(tmp_path / "data"), a_server(tmp_path, "data") as (url, pid):
        (tmp_path / "data" / "others").write_bytes(bytes(8_350_000))
        os.kill(pid, signal.SIGSTOP)
        results = judged(tmp_path, "-s", url, "--this-host", "--timeout", "1s")
    assert (results["JSD828"]["outcome"], results["JSD828"]["severity"]) == ("fail", "error")


def test_the_directory_of_a_volume_need_not_exist(tmp_path: Path) -> None:
    volume = volume_of(Path("/proc/self"), str(tmp_path / "not" / "yet"))
    assert volume is not None
    assert volume.total > 0
    assert not volume.problem


def test_no_server_on_this_host_is_a_gap() -> None:
    reading = HostReading(host="h1", at=datetime.now(UTC))
    body = msgspec.json.encode(reading)
    exchange = Exchange(Access.HOST, Endpoint.HOST, "h1", reading.at, 0, body)
    evidence = assemble([Sample(reading.at, (exchange,))])
    assert [(gap.kind, gap.requested) for gap in evidence.gaps if gap.kind == "host"] == [("host", True)]
    assert isinstance(evidence.get(HostFacts), HostFacts)


def test_other_files_than_a_reading_are_a_gap() -> None:
    exchange = Exchange(Access.HOST, Endpoint.HOST, "h1", datetime.now(UTC), 0, b'{"host": 7}')
    evidence = assemble([Sample(exchange.asked_at, (exchange,))])
    assert any("cannot be read" in gap.reason for gap in evidence.gaps)
    assert evidence.get(HostFacts) is None


def _is_ready(log: Path) -> bool:
    return log.exists() and "Server is ready" in log.read_text()


def _processes() -> tuple[ServerProcess, ...]:
    return msgspec.json.decode(read_host().body, type=HostReading).processes
