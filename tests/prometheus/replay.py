"""Replies of a real Prometheus, recorded in order and served again on loopback."""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs

import httpx2

from tests.support import http_server
from tests.support.http_server import QuietHandler

Reply = tuple[int, bytes]


@contextmanager
def serving(respond: Callable[[str, bytes, dict[str, str]], Reply]) -> Iterator[str]:
    """An HTTP server for POST requests: its URL. `respond` gets path, body and headers."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status, content = respond(self.path, body, {key.lower(): value for key, value in self.headers.items()})
            self.respond(status, content, Content_Type="application/json")

    with http_server.serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def recording(prometheus: str, file: Path) -> Iterator[str]:
    """A proxy before a real Prometheus that keeps each reply."""
    kept: list[dict[str, str]] = []

    def respond(path: str, body: bytes, _: dict[str, str]) -> Reply:
        reply = httpx2.post(
            prometheus + path, content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
        )
        kept.append({"path": path, "query": parse_qs(body.decode())["query"][0], "reply": reply.text})
        return reply.status_code, reply.content

    with serving(respond) as url:
        yield url
    with gzip.GzipFile(file, "wb", mtime=0) as output:
        output.write(json.dumps(kept, indent=0).encode())


@contextmanager
def replayed(file: Path) -> Iterator[str]:
    """The recorded replies, in their order, each to the very query that it answered."""
    left = json.loads(gzip.decompress(file.read_bytes()))

    def respond(path: str, body: bytes, _: dict[str, str]) -> Reply:
        expected = left.pop(0) if left else {"path": "", "query": "none more", "reply": ""}
        asked = (path, parse_qs(body.decode())["query"][0])
        if asked != (expected["path"], expected["query"]):
            text = f"the recording has {expected['path']} {expected['query']} here, and was asked {asked}"
            return 400, json.dumps({"status": "error", "error": text}).encode()
        return 200, expected["reply"].encode()

    with serving(respond) as url:
        yield url
