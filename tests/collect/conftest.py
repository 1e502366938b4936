"""Fixtures of the connection tests: a nats-server per configuration, certificates, a loop that must stay quiet."""

import asyncio
import contextlib
import gc
import json
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from jsdoctor.demo.server import find_binary
from tests.collect.certificates import Certificates

T = TypeVar("T")
_START_S = 15.0


class RunningServer(NamedTuple):
    """A nats-server: `port` takes clients, `ports` are all that it lists itself, by kind; `log` is its log file."""

    port: int
    ports: dict[str, int]
    log: Path
    process: subprocess.Popen[bytes]


StartServer = Callable[[str], RunningServer]
RunQuietly = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start a nats-server with this configuration on free ports of 127.0.0.1; all stop when the test ends."""
    with contextlib.ExitStack() as running:

        def start(config: str) -> RunningServer:
            directory = tmp_path / f"server{len(list(tmp_path.glob('server*')))}"
            directory.mkdir()
            return running.enter_context(_server(config, directory))

        yield start


@contextlib.contextmanager
def _server(config: str, directory: Path) -> Iterator[RunningServer]:
    log = directory / "server.log"
    # Port -1 is one that the kernel has just found free; the server writes which to a file in ports_file_dir.
    config_file = directory / "server.conf"
    config_file.write_text(
        f'listen: "127.0.0.1:-1"\nports_file_dir: "{directory}"\nlog_file: "{log}"\ntrace: true\n{config}'
    )
    process = subprocess.Popen(
        [find_binary(), "-c", config_file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + _START_S
        while not (found := _ports(directory)):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                _, complaint = process.communicate()
                told = log.read_text() if log.exists() else complaint.decode()
                pytest.fail(f"nats-server did not start:\n{told}")
            time.sleep(0.02)
        yield RunningServer(found["nats"], found, log, process)
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
