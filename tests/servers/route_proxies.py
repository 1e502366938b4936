"""Proxies in front of the route ports of a cluster: they pass everything on until a server is cut off or muted."""

import contextlib
import re
import socket
import threading
from dataclasses import dataclass
from typing import Self

HOST = "127.0.0.1"
_NAME = re.compile(rb'"server_name":"([^"]+)"')
_CHUNK = 1 << 16


@dataclass(eq=False)
class _Link:
    """One connection between two servers. `caller_name` is empty until the caller's INFO names it."""

    node: str
    caller: socket.socket
    target: socket.socket
    caller_name: str = ""

    def end(self) -> None:
        _end(self.caller)
        _end(self.target)


class RouteProxies:
    """One proxy for each server. `port` is what `Cluster.launch` takes as `route_port`."""

    def __init__(self) -> None:
        self._cut: set[str] = set()
        self._muted: set[str] = set()
        self._listeners: list[socket.socket] = []
        self._links: set[_Link] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            for listener in self._listeners:
                _end(listener)
            for link in self._links:
                link.end()
        for thread in self._threads:
            thread.join(5)

    def port(self, node: str, own: int) -> int:
        """The port at which others reach the routes of *node*, which listens on *own*."""
        listener = socket.create_server((HOST, 0))
        self._listeners.append(listener)
        self._threads.append(threading.Thread(target=self._accept, args=(listener, node, own), daemon=True))
        self._threads[-1].start()
        return int(listener.getsockname()[1])

    def cut(self, node: str) -> None:
        """End all routes of *node*, and let none come up again."""
        with self._lock:
            self._cut.add(node)
            for link in self._links:
                if node in (link.node, link.caller_name):
                    link.end()

    def mute(self, node: str) -> None:
        """Lose all that *node* sends, while it goes on receiving what the others send."""
        with self._lock:
            self._muted.add(node)

    def _accept(self, listener: socket.socket, node: str, own: int) -> None:
        with contextlib.suppress(OSError), listener:
            while True:
                caller, _ = listener.accept()
                threading.Thread(target=self._pass_on, args=(caller, node, own), daemon=True).start()

    def _pass_on(self, caller: socket.socket, node: str, own: int) -> None:
        with contextlib.suppress(OSError), caller, socket.create_connection((HOST, own)) as target:
            link = _Link(node, caller, target)
            with self._lock:
                self._links.add(link)
            back = threading.Thread(target=self._copy_back, args=(link,), daemon=True)
            back.start()
            try:
                self._copy_there(link)
            finally:
                with self._lock:
                    self._links.discard(link)
                link.end()
                back.join()

    def _copy_there(self, link: _Link) -> None:
        """Copy what the caller sends until the end, or until its INFO shows that one of the two is cut off."""
        while data := link.caller.recv(_CHUNK):
            with self._lock:
                if not link.caller_name and (match := _NAME.search(data)):
                    link.caller_name = match[1].decode()
                if self._cut & {link.node, link.caller_name}:
                    return
                lost = link.caller_name in self._muted
            if not lost:
                link.target.sendall(data)

    def _copy_back(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while data := link.target.recv(_CHUNK):
                with self._lock:
                    lost = link.node in self._muted
                if not lost:
                    link.caller.sendall(data)
        link.end()


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
