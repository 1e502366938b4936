"""A server that misbehaves, for tests: real NATS framing over TCP up to the step where it goes wrong."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

INFO: dict[str, Any] = {
    "server_id": "X" * 56,
    "server_name": "h",
    "version": "2.12.8",
    "proto": 1,
    "max_payload": 1 << 20,
    "headers": True,
}

Reply = Callable[["Talk", str, bytes], None]
"""Responds to a request: the connection, the subject, and the inbox."""


class Talk:
    """One connection as the server sees it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.file = sock.makefile("rb")
        self.sids: dict[str, bytes] = {}

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def info(self, **more: Any) -> None:
        self.send(b"INFO " + json.dumps(INFO | more).encode() + b"\r\n")

    def sid_of(self, inbox: bytes) -> bytes:
        subject = inbox.decode()
        for pattern, sid in self.sids.items():
            if pattern == subject or (pattern.endswith("*") and subject.startswith(pattern[:-1])):
                return sid
        return b"1"

    def reply(self, inbox: bytes, body: bytes) -> None:
        self.send(b"MSG %s %s %d\r\n" % (inbox, self.sid_of(inbox), len(body)) + body + b"\r\n")

    def serve(self, respond: Reply, pong: bytes = b"PONG\r\n") -> None:
        """Follow the protocol as a server does; `respond` takes the requests."""
        while line := self.file.readline():
            verb, _, rest = line.strip().partition(b" ")
            if verb == b"PING":
                self.send(pong)
            elif verb == b"SUB":
                words = rest.split()
                self.sids[words[0].decode()] = words[-1]
            elif verb in (b"PUB", b"HPUB"):
                words = rest.split()
                self.file.read(int(words[-1]) + 2)
                if len(words) > 2 + (verb == b"HPUB"):
                    respond(self, words[0].decode(), words[1])


Handler = Callable[[Talk], None]
"""Serves one connection."""


def ignore(_: Talk, __: str, ___: bytes) -> None:
    """No response at all."""


def always(body: bytes) -> Reply:
    return lambda talk, _, inbox: talk.reply(inbox, body)


def no_responders(talk: Talk, inbox: bytes) -> None:
    head = b"NATS/1.0 503\r\n\r\n"
    talk.send(b"HMSG %s %s %d %d\r\n" % (inbox, talk.sid_of(inbox), len(head), len(head)) + head + b"\r\n")


def plain(answers: dict[str, bytes | Reply]) -> Reply:
    """As the API of a plain account; other subjects have no responders."""

    def respond(talk: Talk, subject: str, inbox: bytes) -> None:
        for part, what in answers.items():
            if part in subject:
                return what(talk, subject, inbox) if callable(what) else talk.reply(inbox, what)
        return no_responders(talk, inbox)

    return respond


@contextlib.contextmanager
def listening(handle: Handler) -> Iterator[int]:
    """Serve every connection with `handle`; gives the port. Leaving hangs up on everybody."""
    server = socket.create_server(("127.0.0.1", 0))
    open_ones: list[socket.socket] = []

    def serve(sock: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), sock:
            sock.settimeout(60)
            handle(Talk(sock))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = server.accept()
                open_ones.append(sock)
                threading.Thread(target=serve, args=(sock,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        for sock in (server, *open_ones):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        server.close()


def forever(talk: Talk, data: bytes, pause_s: float = 0.0) -> None:
    """Send the same for a minute, or until the other side has gone."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        talk.send(data)
        if pause_s:
            time.sleep(pause_s)
