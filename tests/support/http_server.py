"""HTTP servers of tests, on loopback: none of their threads outlives the test that started it."""

import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietHandler(BaseHTTPRequestHandler):
    """Logs no request, and gives up a connection on which none arrives."""

    timeout = 10

    def log_message(self, *_: object) -> None:
        """Say nothing: the output of a test is its own."""

    def respond(self, status: int, content: bytes = b"", **headers: str) -> None:
        """Send a whole reply. A `_` in the name of a header stands for `-`."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    """Closing waits for them: one that replies later would print its error to what the next test captures."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may hang up before its reply, as one does whose time is up. Other errors are printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(
    handler: type[BaseHTTPRequestHandler], *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[int]:
    """The port of a server while the context lasts; after it, all requests have their replies."""
    with _Server((host, 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
