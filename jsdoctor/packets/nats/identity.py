"""Who a server and a client say they are: INFO and CONNECT, without anything that logs in.

CONNECT carries passwords, tokens, JWTs and signatures. Only the fields named here are ever decoded; the line itself is
overwritten by the reader as soon as it is done with.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from jsdoctor.model.nats_traffic import NatsPeers
from jsdoctor.model.typed import decode_as

_MAX_NAME_LENGTH = 128
_T = TypeVar("_T")


class Greeting(msgspec.Struct, frozen=True):
    """INFO as a server sends it. `ip` begins with nats-route:// or nats-gossip:// between servers."""

    server_name: str = ""
    server_id: str = ""
    version: str = ""
    cluster: str = ""
    tls_required: bool = False
    compression: str = ""
    gateway: str = ""
    ip: str = ""
    leafnode_urls: tuple[str, ...] | None = None
    import_: msgspec.Raw | None = msgspec.field(name="import", default=None)
    lnoc: bool | None = None

    @property
    def link(self) -> NatsPeers | None:
        """The kind of port that sends this INFO, if it shows that (server: route.go, gateway.go)."""
        if self.gateway:
            return NatsPeers.GATEWAY
        return NatsPeers.ROUTE if self.ip.startswith("nats-route") or self.import_ is not None else None


class Hello(msgspec.Struct, frozen=True):
    """CONNECT as a client sends it, without anything that logs in."""

    name: str = ""
    lang: str = ""
    version: str = ""
    verbose: bool = False


def greeting(rest: bytes) -> Greeting:
    """INFO; an empty one for what cannot be read."""
    return _decoded(rest, Greeting) or Greeting()


def hello(rest: bytes) -> Hello:
    """CONNECT; an empty one for what cannot be read."""
    return _decoded(rest, Hello) or Hello()


def shortened(name: str) -> str:
    """The name, cut to the length that is kept."""
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…"


def _decoded(rest: bytes, kind: type[_T]) -> _T | None:
    try:
        return decode_as(rest, kind, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def text(raw: bytes) -> str:
    """Bytes of a subject or a name as text; what is no UTF-8 stays visible."""
    return raw.decode("utf-8", "backslashreplace")
