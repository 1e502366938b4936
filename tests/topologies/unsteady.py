"""A path between two servers that breaks again and again: a relay that closes every connection every few seconds."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time


class UnsteadyPath:
    """Listens on `port` of the loopback and passes bytes to `target`; all its connections end every `lasts_s`."""

    def __init__(self, port: int, target: int, lasts_s: float) -> None:
        self._target, self._lasts_s = target, lasts_s
        self._listener = socket.create_server(("127.0.0.1", port))
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all connections, and accept no more."""
        self._end.set()
        self._thread.join(10)
        self._listener.close()

    def _run(self) -> None:
        ends: dict[socket.socket, socket.socket] = {}
        due = time.monotonic() + self._lasts_s
        while not self._end.is_set():
            ready, _, _ = select.select([self._listener, *ends], [], [], 0.05)
            for ready_socket in ready:
                if ready_socket is self._listener:
                    self._accept(ends)
                elif ready_socket in ends:
                    _pass_on(ready_socket, ends)
            if time.monotonic() >= due:
                _cut(ends)
                due = time.monotonic() + self._lasts_s
        _cut(ends)

    def _accept(self, ends: dict[socket.socket, socket.socket]) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self._target), timeout=2)
        except OSError:
            near.close()
            return
        ends[near], ends[far] = far, near


def _pass_on(end: socket.socket, ends: dict[socket.socket, socket.socket]) -> None:
    data = b""
    with contextlib.suppress(OSError):
        data = end.recv(65536)
        if data:
            ends[end].sendall(data)
            return
    other = ends.pop(end)
    ends.pop(other, None)
    end.close()
    other.close()


def _cut(ends: dict[socket.socket, socket.socket]) -> None:
    for end in ends:
        end.close()
    ends.clear()
