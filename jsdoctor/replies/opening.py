"""Sender and body of a server's reply: system-account replies name their sender, most monitoring replies do not."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Generic

import msgspec

from jsdoctor.model.exchange import Access, Exchange
from jsdoctor.replies.decoding import (
    ErrorReply,
    ReplyError,
    ServerIdentity,
    Shape,
    SystemEnvelope,
    decode,
    decode_pasted,
)
from jsdoctor.replies.domains import Domains

_BEGIN = b'{"server":{'
_HEAD_BYTES = 16_384


class _Sender(msgspec.Struct, frozen=True):
    server: ServerIdentity = ServerIdentity()


class _Envelope(msgspec.Struct, Generic[Shape], frozen=True):
    """What wraps every system-account reply, and what is in it."""

    server: ServerIdentity = ServerIdentity()
    data: Shape | None = None
    error: ErrorReply | None = None


class Identities:
    """Identities of the servers that respond, shared by the samples of a run.

    `by_address`: the server at each monitoring address. `domains`: the JetStream domains of the newest sample.
    `twins`: names that two servers had at the same time in any sample.
    """

    def __init__(self) -> None:
        self.by_address: dict[str, ServerIdentity] = {}
        self.domains = Domains()
        self.twins: set[str] = set()

    def sender(self, exchange: Exchange, named: ServerIdentity | None = None) -> ServerIdentity:
        """Who sent a reply that names its sender, or that came from a monitoring address. Raises ReplyError."""
        if exchange.access is not Access.MONITOR and named is not None:
            if not named.name:
                raise ReplyError("it does not name its sender")
            return named
        base = monitor_base(exchange.target)
        return self.by_address.get(base, ServerIdentity(name=base))

    def name(self, identity: ServerIdentity) -> str:
        """The server's name, with its domain if a server of another domain has the same name."""
        return self.domains.names.get(identity.id or identity.name, identity.name)


def open_reply(exchange: Exchange, identities: Identities, shape: type[Shape]) -> tuple[ServerIdentity, Shape]:
    """The sender, by the name of its configuration, and what it replied.

    Raises ReplyError for an error reply and for what cannot be read.
    """
    if exchange.access is Access.MONITOR:
        return identities.sender(exchange), decode(exchange.body, shape)
    envelope: _Envelope[Shape] | None = None
    with suppress(ReplyError):
        read = decode_pasted if exchange.access is Access.PASTED else decode
        envelope = read(exchange.body, _Envelope[shape])  # type: ignore[valid-type]  # known when it runs
    if envelope is None or envelope.error is not None or envelope.data is None:
        return _open_in_steps(exchange, shape)
    return identities.sender(exchange, envelope.server), envelope.data


def _open_in_steps(exchange: Exchange, shape: type[Shape]) -> tuple[ServerIdentity, Shape]:
    """Decode the envelope before its content, so that an error reply is reported as such whatever comes with it."""
    envelope = decode(exchange.body, SystemEnvelope)
    raise_for_error(envelope.server, envelope.error)
    return envelope.server, decode(envelope.data, shape)


def raise_for_error(sender: ServerIdentity, error: ErrorReply | None) -> None:
    """Raise ReplyError for an error reply."""
    if error is not None:
        raise ReplyError(f"{sender.name or 'a server'} replied: {error.description}")


def sender_of(body: bytes) -> ServerIdentity:
    """Who sent a system-account reply: servers name themselves before all else, so that the rest need not be read.

    Empty for what cannot be read: it becomes a gap where it is parsed.
    """
    if body.startswith(_BEGIN):
        try:
            head = body[len(_BEGIN) - 1 : _HEAD_BYTES].decode(errors="replace")
            end = json.JSONDecoder().raw_decode(head)[1]
            return decode(head[:end].encode(), ServerIdentity)
        except (ValueError, RecursionError):  # longer, or not what it seems
            pass
    try:
        return decode(body, _Sender).server
    except ReplyError:
        return ServerIdentity()


def monitor_base(url: str) -> str:
    """A monitoring URL without its endpoint: the key that separates the replies of different servers."""
    return url.partition("?")[0].rpartition("/")[0]
