"""Why one server did not take us: a clause for the message, what to type next, and how far it went."""

from __future__ import annotations

import socket
from enum import IntEnum

from jsdoctor.sources.connect.server_urls import ServerUrl

_TEXT_SHOWN = 120


class Stage(IntEnum):
    """How far a connection came. Of several failures, the one at the latest stage is explained."""

    NAME = 0
    TCP = 1
    GREETING = 2
    TLS = 3
    LOGIN = 4


class ConnectionRefusal(Exception):  # noqa: N818 - what a server does to us, not a fault of ours
    """`reason` completes "URL: ..."; `hint` says what to do next. Neither holds a secret."""

    def __init__(self, stage: Stage, reason: str, hint: str) -> None:
        super().__init__(stage, reason, hint)
        self.stage = stage
        self.reason = reason
        self.hint = hint


def printable(stated: bytes | str, limit: int = _TEXT_SHOWN) -> str:
    """Text from the other side on one line, without control characters, cut after `limit` characters."""
    text = stated.decode(errors="replace") if isinstance(stated, bytes) else stated
    line = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return line if len(line) <= limit else f"{line[:limit]}..."


def tcp_refusal(error: OSError, server: ServerUrl, waited_s: float) -> ConnectionRefusal:
    """What a failed name lookup or TCP connect means."""
    where = "check host and port (--server, NATS_URL or the context's url)"
    if isinstance(error, socket.gaierror):
        temporary = error.errno == socket.EAI_AGAIN
        reason = "the name server does not respond" if temporary else "no such host name"
        return ConnectionRefusal(
            Stage.NAME, f"{reason} ({server.host!r})", f"try: getent hosts {server.host}; then {where}"
        )
    if isinstance(error, ConnectionRefusedError):
        return ConnectionRefusal(
            Stage.TCP, "connection refused, nothing listens on that port", f"is the server running? {where}"
        )
    if isinstance(error, TimeoutError):
        reason = f"no TCP connection within {waited_s:.1f} s, packets seem to be dropped on the way"
        return ConnectionRefusal(Stage.TCP, reason, f"{where} and firewalls; --timeout 15s waits longer")
    return ConnectionRefusal(Stage.TCP, f"no TCP connection: {(error.strerror or str(error)).lower()}", where)
