"""Sender and body of a server's reply: system-account replies name their sender, most monitoring replies do not."""

from __future__ import annotations

import msgspec

from jsdoctor.model.exchange import Access, Exchange
from jsdoctor.parse.domains import Domains
from jsdoctor.parse.replies import ReplyError, ServerIdentity, SystemEnvelope, decode


class Identities:
    """Identities of the servers that respond, shared by the samples of a run.

    `by_address`: the server at each monitoring address. `domains`: the JetStream domains of the newest sample.
    `twins`: names that two servers had at the same time in any sample.
    """

    def __init__(self) -> None:
        self.by_address: dict[str, ServerIdentity] = {}
        self.domains = Domains()
        self.twins: set[str] = set()

    def name(self, identity: ServerIdentity) -> str:
        """The server's name, with its domain if a server of another domain has the same name."""
        return self.domains.names.get(identity.id or identity.name, identity.name)


def open_reply(exchange: Exchange, identities: Identities) -> tuple[ServerIdentity, bytes | msgspec.Raw]:
    """The sender, by the name of its configuration, and the body.

    Raises ReplyError for an error reply and for what cannot be read.
    """
    if exchange.access is Access.MONITOR:
        base = monitor_base(exchange.target)
        return identities.by_address.get(base, ServerIdentity(name=base)), exchange.body
    envelope = decode(exchange.body, SystemEnvelope)
    if envelope.error:
        raise ReplyError(f"{envelope.server.name or 'a server'} replied: {envelope.error.description}")
    return envelope.server, envelope.data


def monitor_base(url: str) -> str:
    """A monitoring URL without its endpoint: the key that separates the replies of different servers."""
    return url.partition("?")[0].rpartition("/")[0]
