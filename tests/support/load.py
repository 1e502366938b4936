"""What clients do that burdens servers, done on real ones: logins, connections that come and go, readers that stall."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tests.servers import Cluster, wait_until
from tests.support.outage import HANG_S
from tests.support.reports import Json

LOGIN = {"user": "app", "pass": "app", "verbose": False}


def dial(cluster: Cluster, login: Json | None, node: str = "n1", *, buffer: int | None = None) -> socket.socket:
    """A connection without a client library; with a login when there is one. A small `buffer` takes in little."""
    host, port = cluster.node(node).url.removeprefix("nats://").split(":")
    raw = socket.socket()
    raw.settimeout(10)
    if buffer:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    raw.connect((host, int(port)))
    _line(raw)
    if login is not None:
        raw.sendall(b"CONNECT " + json.dumps(login).encode() + b"\r\nPING\r\n")
    return raw


def next_line(raw: socket.socket) -> str:
    """The next line from the server; empty when it closed the connection."""
    return _line(raw).decode()


def _line(raw: socket.socket) -> bytes:
    """Byte by byte: what follows must stay unread."""
    line = b""
    while not line.endswith(b"\r\n") and (byte := raw.recv(1)):
        line += byte
    return line.strip()


def stalled_reader(cluster: Cluster, subject: str, name: str) -> socket.socket:
    """A subscriber that never reads what it is sent."""
    raw = dial(cluster, LOGIN | {"name": name, "lang": "raw"}, buffer=4096)
    assert next_line(raw) == "PONG"
    raw.sendall(f"SUB {subject} 1\r\nPING\r\n".encode())
    assert next_line(raw) == "PONG"
    return raw


def failed_logins(cluster: Cluster, logins: Iterable[Json]) -> None:
    """Log in with each and be refused."""
    for login in logins:
        with dial(cluster, login) as raw:
            assert "Authorization Violation" in next_line(raw)


def check_during(cluster: Cluster, work: Callable[[], Any], *arguments: str) -> tuple[int, Json]:
    """`jsdoctor check` through the monitoring ports, with `work` done between its two samples, however long that is."""
    monitors = [word for url in cluster.monitor_urls for word in ("--monitor", url)]
    first = _FirstSample(cluster)
    words = ["check", "--format", "json", "--samples", "2", "--interval", "5s", *monitors, *arguments]
    alone = [] if "--config" in arguments else ["--isolated"]
    command = [sys.executable, "-m", "jsdoctor", *words, *alone]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            wait_until(first.is_over, "the first sample", timeout=20)
            running.send_signal(signal.SIGSTOP)
            assert not first.was_left(), "the second sample came before anything was done: this machine is too slow"
            work()
            running.send_signal(signal.SIGCONT)
            output, errors = running.communicate(timeout=HANG_S)
        finally:
            running.kill()
    assert "Traceback" not in errors, errors
    assert output, errors
    return running.returncode, json.loads(output)


class _FirstSample:
    """Whether everything that is asked once has been asked of every server, and nothing is asked again yet."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._begun = self._requests()
        self._last = self._begun

    def is_over(self) -> bool:
        asked, last = self._requests(), self._last
        self._last = asked
        return asked == last and all(
            asked[name].get(path, 0) > self._begun[name].get(path, 0) for name in asked for path in _ONCE
        )

    def was_left(self) -> bool:
        return any(paths["/jsz"] != self._last[name]["/jsz"] for name, paths in self._requests().items())

    def _requests(self) -> dict[str, Json]:
        """Requests by path and server, but for those of this look itself."""
        requests_by_path = {
            name: self._cluster.monitor(name, "/varz")["http_req_stats"] for name in self._cluster.names
        }
        return {
            name: {path: n for path, n in paths.items() if path != "/varz"} for name, paths in requests_by_path.items()
        }


_ONCE = ("/jsz", "/healthz", "/connz", "/gatewayz", "/leafz", "/routez")
"""What the first sample asks for, apart from what the looks themselves ask for."""
