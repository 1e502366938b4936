"""`jsdoctor watch` beside a real server: a fault comes and goes, and the screen, the lines and receivers follow."""

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import jsdoctor
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, add_stream, api
from tests.support.http_server import QuietHandler, serving
from tests.support.outage import with_client

pytestmark = pytest.mark.real

BOUNDED = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
FULL = {"max_msgs": 1, "discard": "new"}


def watch(cluster: Cluster, *options: str) -> list[str]:
    looking = ("--samples", "1", "--timeout", "2s", "--every", "500ms", "--select", "JSD6")
    return [sys.executable, "-m", "jsdoctor", "watch", "-s", cluster.url("app"), "--no-context", *looking, *options]


async def plant(client: Any) -> None:
    await add_stream(client, "JOBS", subjects=["jobs"], **BOUNDED, **FULL)
    await client.request("jobs", b"1")


async def fix(client: Any) -> None:
    await api(client, "STREAM.PURGE.JOBS")


@contextlib.contextmanager
def running(command: list[str], **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the test, whatever becomes of it."""
    with subprocess.Popen(command, text=True, **settings) as process:
        try:
            yield process
        finally:
            process.kill()


class Receiver:
    """A server that keeps what is posted to it, and refuses while it is told to."""

    def __init__(self) -> None:
        self.bodies: defaultdict[str, list[Any]] = defaultdict(list)
        self.refuses = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[str]:
        kept = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not kept.refuses:
                    kept.bodies[self.path].append(sent)
                self.respond(503 if kept.refuses else 200)

        with serving(Handler) as port:
            yield f"http://127.0.0.1:{port}"

    def changes(self) -> list[tuple[str, str]]:
        return [
            (change["change"], change["result"]["code"]) for body in self.bodies["/json"] for change in body["changes"]
        ]


def test_a_fault_comes_and_goes(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster, receiver = cluster_factory(), Receiver()
    with receiver.listening() as url, (tmp_path / "err").open("w") as err:
        formats = [f"{url}/json", f"slack={url}/slack", f"alertmanager={url}/am"]
        command = watch(cluster, *(part for destination in formats for part in ("--notify", destination)))
        with running(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=err) as process:
            assert process.stdout is not None
            assert "Z Nothing could be judged" in process.stdout.readline(), "the first check is the baseline"
            with_client(cluster, plant)
            line = process.stdout.readline()
            assert " appeared error JSD603 APP > JOBS: it is full" in line
            wait_until(lambda: receiver.changes() == [("appeared", "JSD603")], "a notification", timeout=60)
            wait_until(lambda: len(receiver.bodies["/am"]) > 2, "the alert to be repeated", timeout=60)
            assert {alert["labels"]["code"] for body in receiver.bodies["/am"] for alert in body} == {"JSD603"}
            receiver.refuses = True
            with_client(cluster, fix)
            line = process.stdout.readline()
            assert " resolved error JSD603 APP > JOBS: after " in line
            assert receiver.changes() == [("appeared", "JSD603")]
            receiver.refuses = False
            wait_until(lambda: receiver.changes()[1:] == [("resolved", "JSD603")], "it to be sent again", timeout=60)
            cluster.stop("n1")
            wait_until(lambda: bool((tmp_path / "err").read_text()), "a message on it", timeout=60)
            cluster.start("n1")
            wait_until(lambda: "come to a report again" in (tmp_path / "err").read_text(), "a report", timeout=60)
    assert len(receiver.bodies["/slack"]) == 2
    assert "/json" not in (tmp_path / "err").read_text(), "addresses of webhooks are secrets"


def test_once_healthy_and_for(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """A time that is shorter than a check does not end the watch without an answer."""
    cluster = cluster_factory()
    with_client(cluster, plant)
    timed_out = subprocess.run(
        watch(cluster, "--once-healthy", "--for", "1ms"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert timed_out.returncode == 1, timed_out.stderr
    assert timed_out.stdout.splitlines()[-1].startswith("1 problem needs action")
    with_client(cluster, fix)
    healthy = subprocess.run(
        watch(cluster, "--once-healthy", "--for", "60s"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert healthy.returncode == 0, healthy.stderr
    cluster.stop("n1")
    away = subprocess.run(watch(cluster, "--for", "1ms"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert away.returncode == 3
    assert "Traceback" not in away.stderr


def test_a_terminal(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """Keys, a change of size, a saved bundle; and the terminal is as before."""
    cluster = cluster_factory()
    with_client(cluster, plant)
    main, terminal = pty.openpty()
    resize(terminal, 24, 80)
    before = termios.tcgetattr(terminal)
    environment = os.environ | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    with running(
        watch(cluster), cwd=tmp_path, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        screen = Screen(main)
        screen.shows("1 problem needs action")
        screen.shows("JSD603 APP > JOBS")
        os.write(main, b"\r")
        screen.shows("Fix (")
        os.write(main, b"\x1b")
        screen.shows("e explain · s save")
        os.write(main, b"?")
        screen.shows("since            when a finding began")
        os.write(main, b"\x1b")
        screen.shows("e explain · s save")
        os.write(main, b"o")
        screen.shows("\x1b[1m   since")
        os.write(main, b"/no such\r")
        screen.shows("/\x1b[0mno such\x1b[2m  esc ends the filter")
        os.write(main, b"\x1b/jobs qdx\x7f\x7f\x7f\r")
        screen.shows("/\x1b[0mjobs \x1b[2m  esc ends")
        os.write(main, b"e")
        screen.shows("esc back")
        os.write(main, b"\x1b[B\x1b[B\x1b\x1b")
        screen.shows("severity")
        os.write(main, b"s")
        screen.shows(".zip: ")
        resize(terminal, 40, 120)
        screen.shows(" " * 100)
        with_client(cluster, fix)
        screen.shows("resolved")
        os.write(main, b"q")
        screen.shows("No problems found")
        assert process.wait(20) == 0
    after = termios.tcgetattr(terminal)
    os.close(terminal)
    screen.close()
    assert after == before
    assert b"\x1b[?1049h" in screen.bytes
    assert b"\x1b[?1049l" in screen.bytes
    [bundle] = tmp_path.glob("jsdoctor-*.zip")
    assert jsdoctor("check", "--bundle", str(bundle), "--select", "JSD603", cwd=tmp_path).returncode == 1


def resize(terminal: int, lines: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


class Screen:
    """All that was written to a terminal."""

    def __init__(self, main: int) -> None:
        self.bytes, self._seen, self._main = b"", 0, main
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while block := os.read(self._main, 65_536):
                self.bytes += block

    def shows(self, text: str) -> None:
        """Wait until it is written after what was waited for before."""

        def there() -> bool:
            at = self.bytes.find(text.encode(), self._seen)
            if at >= 0:
                self._seen = at
            return at >= 0

        wait_until(there, f"{text!r} on the screen", timeout=60)

    def close(self) -> None:
        """Read to the end, which comes when no process has the other side open."""
        self._thread.join(20)
        assert not self._thread.is_alive()
        os.close(self._main)
