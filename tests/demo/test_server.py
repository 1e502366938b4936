"""The launcher of real nats-servers: ready means ready, failures explain themselves, nothing is left behind."""

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from jsdoctor.demo import server as launcher
from jsdoctor.demo.errors import BinaryNotFoundError, ServerStartError
from jsdoctor.demo.server import NatsServer, Ports, find_binary, free_ports
from tests.servers import ROOT, server_binary, wait_until
from tests.servers.http import get

pytestmark = pytest.mark.real

JETSTREAM = "jetstream { store_dir: store, max_file_store: 64M, max_memory_store: 16M }\n"


def alive(pid: int) -> bool:
    """Whether *pid* runs; a zombie whose parent is gone waits only for init."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ready_server_responds_and_stops(tmp_path: Path) -> None:
    with NatsServer.start(server_binary(), JETSTREAM, tmp_path) as server:
        assert get(f"{server.monitor_url}/healthz").json() == {"status": "ok"}
        with socket.create_connection(("127.0.0.1", server.ports.client)) as client:
            assert client.recv(5) == b"INFO "
        assert (tmp_path / "store").is_dir(), "relative paths count from the server's directory"
    assert not server.running
    assert "Server Exiting" in server.log_path.read_text(encoding="utf-8")


def test_restart_keeps_ports_store_and_log(tmp_path: Path) -> None:
    first = NatsServer.start(server_binary(), JETSTREAM, tmp_path)
    first.kill()
    with NatsServer.start(server_binary(), JETSTREAM, tmp_path, ports=first.ports) as second:
        assert (second.url, second.monitor_url) == (first.url, first.monitor_url)
        assert second.log_path.read_text(encoding="utf-8").count("Server is ready") == 2


def test_mistake_in_the_configuration_is_reported_with_the_log(tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match=r"ended with exit code 1(?s:.*)server\.conf:3.*bogus"):
        NatsServer.start(server_binary(), "bogus: 1\n", tmp_path)


def test_server_that_never_gets_ready_is_killed_and_reported(tmp_path: Path) -> None:
    never = tmp_path / "never-ready"
    never.write_text("#!/bin/sh\necho $$ > pid\necho still thinking\nexec sleep 60\n", encoding="utf-8")
    never.chmod(0o755)
    with pytest.raises(ServerStartError, match=r"not ready within 0\.5 s(?s:.*)still thinking"):
        NatsServer.start(never, "", tmp_path / "home", timeout=0.5)
    assert not alive(int((tmp_path / "home" / "pid").read_text(encoding="ascii")))


def test_port_that_was_taken_meanwhile_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with NatsServer.start(server_binary(), "", tmp_path / "first") as first:
        offers = iter([list(first.ports), free_ports(2)])
        monkeypatch.setattr(launcher, "free_ports", lambda _count: next(offers))
        with NatsServer.start(server_binary(), "", tmp_path / "second") as second:
            assert not set(first.ports) & set(second.ports)


def test_port_that_the_caller_wants_is_not_replaced(tmp_path: Path) -> None:
    with (
        NatsServer.start(server_binary(), "", tmp_path / "first") as first,
        pytest.raises(ServerStartError, match="address already in use"),
    ):
        NatsServer.start(server_binary(), "", tmp_path / "second", ports=Ports(*first.ports))


def test_suspended_server_can_be_stopped(tmp_path: Path) -> None:
    server = NatsServer.start(server_binary(), "", tmp_path)
    os.kill(server.pid, signal.SIGSTOP)
    server.stop()
    assert not server.running


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends orphans only on Linux")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_nothing_outlives_the_program_that_started_it(tmp_path: Path, end: signal.Signals | None) -> None:
    program = f"""
from pathlib import Path
from jsdoctor.demo.server import NatsServer
server = NatsServer.start(Path({str(server_binary())!r}), "", Path({str(tmp_path)!r}))
print(server.pid, flush=True)
input()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout
    pid = int(parent.stdout.readline())
    assert alive(pid)
    if end:
        parent.send_signal(end)
    parent.communicate(b"\n" if end is None else None)
    wait_until(lambda: not alive(pid), "the server to end with its parent")


def test_binary_is_the_one_beside_this_interpreter_else_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_binary().parent == Path(sys.executable).parent
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    monkeypatch.setenv("PATH", str(server_binary().parent))
    assert find_binary() == server_binary()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinaryNotFoundError, match=r"pip install 'jsdoctor\[demo\]'"):
        find_binary()


def test_ports_that_were_returned_lately_are_not_returned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = launcher._PORT_RANGE[0]
    monkeypatch.setattr(launcher, "_PORT_RANGE", (first, first + 600))
    monkeypatch.setattr(launcher, "_lately_returned", deque(maxlen=200))
    ports = [port for _ in range(20) for port in free_ports(5)]
    assert len(set(ports)) == 100


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    for port in ports:
        with socket.socket() as probe:  # as a nats-server does: connections that have ended do not keep a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            probe.listen()
