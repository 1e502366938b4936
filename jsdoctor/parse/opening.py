"""Who sent a server's reply, and its body: system-account replies name their sender, monitoring replies hardly do."""

from __future__ import annotations

import msgspec

from jsdoctor.model.exchange import Access, Exchange
from jsdoctor.parse.replies import ReplyError, ServerIdentity, SystemEnvelope, decode


def open_reply(exchange: Exchange, identities: dict[str, ServerIdentity]) -> tuple[ServerIdentity, bytes | msgspec.Raw]:
    """The sender and the body. `identities` names who answers at a monitoring address.

    Raises ReplyError for an error reply and for what cannot be read.
    """
    if exchange.access is Access.MONITOR:
        base = monitor_base(exchange.target)
        return identities.get(base, ServerIdentity(name=base)), exchange.body
    envelope = decode(exchange.body, SystemEnvelope)
    if envelope.error:
        raise ReplyError(f"{envelope.server.name or 'a server'} answered: {envelope.error.description}")
    return envelope.server, envelope.data


def monitor_base(url: str) -> str:
    """A monitoring URL without its endpoint: what tells one server's replies from another's."""
    return url.partition("?")[0].rpartition("/")[0]
