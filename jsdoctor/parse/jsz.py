"""Replies about JetStream (JSZ), decoded once: those who collect and those who assemble read the same objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from jsdoctor.model.exchange import Access, Exchange
from jsdoctor.parse.opening import refuse
from jsdoctor.parse.replies import (
    AccountDetail,
    AccountHead,
    ConsumerReply,
    ErrorReply,
    JszHead,
    JszReply,
    ReplyError,
    ServerIdentity,
    StreamHead,
    StreamReply,
    SystemEnvelope,
    decode,
    decode_each,
    decode_pasted,
)


class ReadJsz(NamedTuple):
    """A reply and its sender, without a name if it came by monitoring, where `reply.server_id` is all that names it.

    `errors`: why streams and consumers are left out of the reply. `partial`: streams that lack consumers for that,
    by the name of their account.
    """

    sender: ServerIdentity
    reply: JszReply
    errors: tuple[ReplyError, ...] = ()
    partial: frozenset[tuple[str, str]] = frozenset()


class _JszEnvelope(msgspec.Struct, frozen=True):
    server: ServerIdentity = ServerIdentity()
    data: JszReply | None = None
    error: ErrorReply | None = None


class _RawStream(StreamHead, frozen=True):
    consumer_detail: tuple[msgspec.Raw, ...] | None = None


class _RawAccount(AccountHead, frozen=True):
    stream_detail: tuple[msgspec.Raw, ...] | None = None


class _RawJsz(JszHead, frozen=True):
    account_details: tuple[_RawAccount, ...] | None = None


def read_jsz(exchange: Exchange) -> ReadJsz:
    """The reply, its streams and consumers included. Raises ReplyError, for an error reply too.

    All is decoded in one go. Only where that fails are streams and consumers decoded one by one, as one that cannot be
    read takes no other with it.
    """
    return exchange.once(_jsz_of)


def _jsz_of(exchange: Exchange) -> ReadJsz:
    try:
        if exchange.access is Access.MONITOR:
            return ReadJsz(ServerIdentity(), decode(exchange.body, JszReply))
        envelope = (decode_pasted if exchange.access is Access.PASTED else decode)(exchange.body, _JszEnvelope)
    except ReplyError:
        return _piece_by_piece(exchange)
    if envelope.error is not None or envelope.data is None:
        return _piece_by_piece(exchange)
    return ReadJsz(envelope.server, envelope.data)


def _piece_by_piece(exchange: Exchange) -> ReadJsz:
    sender, body = ServerIdentity(), exchange.body
    data: bytes | msgspec.Raw = body
    if exchange.access is not Access.MONITOR:
        envelope = decode(body, SystemEnvelope)
        refuse(envelope.server, envelope.error)
        sender, data = envelope.server, envelope.data
    errors: list[ReplyError] = []
    partial: set[tuple[str, str]] = set()
    jsz = decode(data, _RawJsz)
    accounts = None if jsz.account_details is None else tuple(_account(a, errors, partial) for a in jsz.account_details)
    whole = JszReply(**_fields(jsz, JszHead), account_details=accounts)
    return ReadJsz(sender, whole, tuple(errors), frozenset(partial))


def _account(account: _RawAccount, errors: list[ReplyError], partial: set[tuple[str, str]]) -> AccountDetail:
    raw, unread = decode_each(account.stream_detail, _RawStream)
    errors += unread
    streams = tuple(_stream(account.name, stream, errors, partial) for stream in raw)
    return AccountDetail(
        **_fields(account, AccountHead), stream_detail=None if account.stream_detail is None else streams
    )


def _stream(account: str, stream: _RawStream, errors: list[ReplyError], partial: set[tuple[str, str]]) -> StreamReply:
    consumers, unread = decode_each(stream.consumer_detail, ConsumerReply)
    errors += unread
    if unread:
        partial.add((account, stream.config.name))
    return StreamReply(
        **_fields(stream, StreamHead), consumer_detail=None if stream.consumer_detail is None else tuple(consumers)
    )


def _fields(value: msgspec.Struct, of: type[msgspec.Struct]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in of.__struct_fields__}


def sender_name(exchange: Exchange) -> str:
    """The name of the server that replied; empty where the reply cannot be read or does not name it."""
    try:
        return read_jsz(exchange).sender.name
    except ReplyError:
        return ""


def accounts_of(exchanges: Iterable[Exchange]) -> list[tuple[JszReply, AccountDetail]]:
    """Every account of the replies that can be read, with its reply; the others become gaps where they are parsed."""
    result = []
    for exchange in exchanges:
        try:
            reply = read_jsz(exchange).reply
        except ReplyError:
            continue
        result += [(reply, account) for account in reply.account_details or ()]
    return result
