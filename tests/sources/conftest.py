"""Fixtures of the connection tests: a nats-server per configuration, certificates, a loop that must stay quiet."""

import asyncio
import contextlib
import gc
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from jsdoctor.model.problems import ConnectProblem, Problem
from jsdoctor.sources.connect.connection import Connection, connect
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from tests.servers import DEFAULT_VERSION, server_binary
from tests.sources.certificates import Certificates

T = TypeVar("T")
_START_S = 15.0


class RunningServer(NamedTuple):
    """A nats-server: `port` takes clients, `ports` are all that it lists itself, by kind; `log` is its log file."""

    port: int
    ports: dict[str, int]
    log: Path
    process: subprocess.Popen[bytes]


StartServer = Callable[..., RunningServer]
RunQuietly = Callable[[Coroutine[Any, Any, T]], T]
Attempt = Callable[..., Any]
Refused = Callable[..., Problem]

SECRET = "s3cr3t-Word"
USERS = f"authorization {{ users: [{{user: bob, password: '{SECRET}'}}] }}\n"


def tls_block(pair: tuple[Path, Path], more: str = "") -> str:
    """Server configuration for TLS with this certificate and key."""
    return f'tls {{ cert_file: "{pair[0]}", key_file: "{pair[1]}", {more} }}\n'


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start a nats-server with this configuration on free ports of 127.0.0.1; all stop when the test ends."""
    with contextlib.ExitStack() as running:

        def start(config: str, version: str = DEFAULT_VERSION) -> RunningServer:
            directory = tmp_path / f"server{len(list(tmp_path.glob('server*')))}"
            directory.mkdir()
            return running.enter_context(_server(config, directory, server_binary(version)))

        yield start


@contextlib.contextmanager
def _server(config: str, directory: Path, binary: Path) -> Iterator[RunningServer]:
    log = directory / "server.log"
    # Port -1 is one that the kernel has just found free; the server writes which to a file in ports_file_dir.
    config_file = directory / "server.conf"
    config_file.write_text(
        f'listen: "127.0.0.1:-1"\nports_file_dir: "{directory}"\nlog_file: "{log}"\ntrace: true\n{config}'
    )
    process = subprocess.Popen(
        [binary, "-c", config_file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + _START_S
        while not (ports := _ports(directory)):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                _, complaint = process.communicate()
                log_text = log.read_text() if log.exists() else complaint.decode()
                pytest.fail(f"nats-server did not start:\n{log_text}")
            time.sleep(0.02)
        yield RunningServer(ports["nats"], ports, log, process)
    finally:
        process.kill()
        process.communicate()


def _ports(directory: Path) -> dict[str, int]:
    for file in directory.glob("*.ports"):
        with contextlib.suppress(json.JSONDecodeError):  # half written
            listed: dict[str, list[str]] = json.loads(file.read_text())
            return {kind: int(urls[0].rpartition(":")[2]) for kind, urls in listed.items()}
    return {}


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A certificate authority and what it signed, made by openssl."""
    return Certificates(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def run_quietly(capfd: pytest.CaptureFixture[str]) -> RunQuietly[Any]:
    """Run a coroutine and insist that neither asyncio nor nats-py complains: no lost exception, no output."""

    def run(coroutine: Coroutine[Any, Any, T]) -> T:
        complaints: list[dict[str, Any]] = []

        async def main() -> T:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            async with asyncio.timeout(60):  # a net for what hangs; nothing is measured by it
                return await coroutine

        try:
            return asyncio.run(main())
        finally:
            gc.collect()
            assert complaints == []
            assert capfd.readouterr() == ("", "")

    return run


async def _info(connection: Connection) -> dict[str, Any]:
    return dict(connection.server_info)


@pytest.fixture
def attempt(run_quietly: RunQuietly[Any], tmp_path: Path) -> Attempt:
    """Connect with these options as the command line would, and return what `use` makes of the connection."""

    def run(use: Callable[[Connection], Any] = _info, *, environ: dict[str, str] | None = None, **options: Any) -> Any:
        async def main() -> Any:
            settings = resolve(ConnectionOptions(**{"timeout": 5.0} | options), environ or {}, tmp_path / "config")
            assert SECRET not in repr(settings)
            async with connect(settings) as connection:
                return await use(connection)

        return run_quietly(main())

    return run


@pytest.fixture
def refused(attempt: Attempt) -> Refused:
    """The problem that connecting with these options ends in. No secret may be in it."""

    def run(kind: type[Problem] = ConnectProblem, **options: Any) -> Problem:
        with pytest.raises(kind) as caught:
            attempt(**options)
        problem = caught.value
        error_texts = f"{problem} {problem.message} {problem.hint} {problem!r}"
        assert SECRET not in error_texts
        assert problem.hint
        assert "\n" not in error_texts
        return problem

    return run


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections (the kernel does) and on which nobody ever answers."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock.getsockname()[1]


@pytest.fixture
def ssh_like_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as sock:

        def greet() -> None:
            with contextlib.suppress(OSError):
                connection, _ = sock.accept()
                with connection:
                    connection.sendall(b"SSH-2.0-\x1b[31mtest\r\n")
                    connection.recv(1)

        thread = threading.Thread(target=greet)
        thread.start()
        yield sock.getsockname()[1]
        sock.shutdown(socket.SHUT_RDWR)
        thread.join()
