"""What the API server asks a kubelet for: logs of containers, over HTTPS. No node runs, so this stands in for it."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.collect.certificates import Certificates


class Kubelet:
    """Serves files as logs. `logs` has the file of each pod, and of the run before under `POD previous`."""

    def __init__(self, address: str, directory: Path) -> None:
        self.logs: dict[str, Path] = {}
        self.requested_paths: list[str] = []
        kubelet = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kubelet.respond(self)

            def log_message(self, *_: object) -> None:
                """Requests are in `requested_paths`."""

        certificate, key = Certificates(directory).localhost
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = ThreadingHTTPServer((address, 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        """`/containerLogs/NAMESPACE/POD/CONTAINER?previous=true&limitBytes=N`."""
        self.requested_paths.append(request.path)
        parts = urlsplit(request.path)
        options = parse_qs(parts.query)
        pod = parts.path.split("/")[3]
        path = self.logs.get(f"{pod} previous" if options.get("previous") == ["true"] else pod)
        body = b"" if path is None else path.read_bytes()
        body = body[: int(options.get("limitBytes", [str(len(body))])[0])]
        request.send_response(200 if path else 400)
        request.send_header("Content-Type", "text/plain")
        request.end_headers()
        request.wfile.write(body if path else b"previous terminated container not found")
