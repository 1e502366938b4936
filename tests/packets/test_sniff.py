"""Listening on an interface: the same findings as from a capture of the same traffic, and drops that are told."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jsdoctor.collect.packets import interface
from jsdoctor.parse.packets.analysis import Analysis, Analyzed
from tests.lab import Disturbance, Lab, lab_or_skip
from tests.lab.namespaces import inside
from tests.servers import ROOT, wait_until

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _lab() -> None:
    lab_or_skip()


def findings(report: str) -> set[tuple[str, str, str]]:
    results = json.loads(report)["results"]
    return {
        (result["code"], result["severity"], result["subject"].get("name", ""))
        for result in results
        if result["code"] != "JSD903"
    }


def sockets(lab: Lab) -> int:
    """Packet sockets that are open in the server's namespace."""
    return len(lab.run(lab.server, "cat", "/proc/net/packet").splitlines())


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_what_is_sniffed_is_judged_as_what_is_captured(tmp_path: Path, ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--format", "json"]
    with Lab.open(tmp_path / "lab", Disturbance(lost=0.05, delay=2)) as lab:
        before = sockets(lab)
        sniffing = subprocess.Popen(
            ["ip", "netns", "exec", lab.server, *command, "--sniff", "lab0", "--port", "4222", "--seconds", "600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        try:
            wait_until(lambda: sockets(lab) > before, "jsdoctor to listen", timeout=30)
            lab.publish(150)
            sniffing.send_signal(ending)
            output, errors = sniffing.communicate(timeout=60)
        finally:
            if sniffing.poll() is None:
                sniffing.kill()
                sniffing.wait()
    captured = subprocess.run(
        [*command, "--pcap", lab.server_capture], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert findings(output) == findings(captured.stdout), errors
    assert any(code == "JSD502" for code, _, _ in findings(output))
    assert json.loads(output)["sources"][0]["name"] == "lab0"


def listened(namespace: str, datagrams: int, seconds: float) -> Analyzed:
    """What is read of datagrams that wait in the socket's buffer when reading begins."""
    analyses: list[Analyzed] = []
    problems: list[BaseException] = []

    def listen() -> None:
        try:
            with inside(namespace), contextlib.closing(interface._open("lo", 1)) as listener:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    for _ in range(datagrams):
                        sender.sendto(b"x" * 1000, ("127.0.0.1", 4789))
                analyses.append(interface._listen(listener, Analysis(0, "lo"), seconds, lambda _: None))
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            problems.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join(60)
    assert not problems
    return analyses[0]


def test_what_the_kernel_drops_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interface, "_BUFFER_BYTES", 4096)
    with Lab.open(tmp_path / "lab", Disturbance()) as lab:
        assert listened(lab.server, 500, seconds=0.1).capture.kernel_drops


def test_packets_that_wait_at_the_end_are_read(tmp_path: Path) -> None:
    with Lab.open(tmp_path / "lab", Disturbance()) as lab:
        assert listened(lab.server, 200, seconds=0).capture.packets == 200
