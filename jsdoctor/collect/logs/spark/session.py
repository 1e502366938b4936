"""The Spark of one run and what the user chose for it; what every way to open one needs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

_STOP_TIMEOUT_S = 20.0
_OTHER_MODES = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE", "SPARK_API_MODE", "MASTER")


class SparkChoice(msgspec.Struct, frozen=True):
    """The Spark that the user chose: `master` names a cluster, `remote` a Connect server, neither means embedded.

    `conf` is passed on unchanged and overrides our settings.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def embedded(self) -> bool:
        """Whether jsdoctor starts the JVM itself."""
        return self.remote is None and (self.master or "local").split("[")[0] == "local"


class Spark(msgspec.Struct, frozen=True):
    """A Spark and its properties: `context` if a driver runs here, `remote` the session of a Connect server.

    `cores` is None if it is unknown (Connect). `work` is a directory that all workers share, if jsdoctor started them.
    """

    place: str
    cores: int | None
    context: Any = None
    remote: Any = None
    work: Path | None = None
    threads: list[threading.Thread] = msgspec.field(default_factory=list)

    def in_thread(self, work: Callable[[], Any]) -> Any:
        """Run `work` in another thread, so that Ctrl-C works: Spark's own wait ends only with the job."""
        from concurrent.futures import Future  # not at the start of each run: few use Spark

        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - handed on to the thread that waits
                future.set_exception(error)

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()
        return future.result()

    def join(self) -> None:
        """Wait for threads that have lost their JVM: Python aborts when one still reads as it ends."""
        for thread in self.threads:
            thread.join(_STOP_TIMEOUT_S)


@contextlib.contextmanager
def classic_mode() -> Iterator[None]:
    """Without the variables that would turn a session into one of Spark Connect."""
    kept = {name: os.environ.pop(name) for name in _OTHER_MODES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def stop_in_time(step: Callable[[], object]) -> None:
    """Stop Spark in a thread: a call that was interrupted leaves the connection of its thread unusable."""

    def quietly() -> None:
        with contextlib.suppress(Exception):
            step()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(_STOP_TIMEOUT_S)


def keep_interrupts(handler: Callable[[int, FrameType | None], Any] | int | None) -> None:
    """Put a handler back that Spark replaced."""
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)
