"""Replies about JetStream (JSZ, STREAM.LIST, CONSUMER.LIST), decoded once for those who collect and those who assemble.

A reply is decoded in one go; only where that fails, item by item, so that one that cannot be read is left out alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from jsdoctor.model.exchange import Access, Exchange
from jsdoctor.replies.decoding import (
    AccountDetail,
    AccountHead,
    ConsumerListReply,
    ConsumerReply,
    ErrorReply,
    JszHead,
    JszReply,
    ListHead,
    ReplyError,
    ServerIdentity,
    StreamHead,
    StreamListReply,
    StreamReply,
    SystemEnvelope,
    decode,
    decode_each,
    decode_pasted,
)
from jsdoctor.replies.opening import raise_for_error


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

    Streams and consumers that cannot be read are left out, and their errors are in the result.
    """
    return exchange.once(_decode_jsz)


def _decode_jsz(exchange: Exchange) -> ReadJsz:
    try:
        if exchange.access is Access.MONITOR:
            return ReadJsz(ServerIdentity(), decode(exchange.body, JszReply))
        envelope = (decode_pasted if exchange.access is Access.PASTED else decode)(exchange.body, _JszEnvelope)
    except ReplyError:
        return _decode_items(exchange)
    if envelope.error is not None or envelope.data is None:
        return _decode_items(exchange)
    return ReadJsz(envelope.server, envelope.data)


def _decode_items(exchange: Exchange) -> ReadJsz:
    """Decode streams and consumers one by one."""
    sender, body = ServerIdentity(), exchange.body
    data: bytes | msgspec.Raw = body
    if exchange.access is not Access.MONITOR:
        envelope = decode(body, SystemEnvelope)
        raise_for_error(envelope.server, envelope.error)
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


def _fields(value: msgspec.Struct, shape: type[msgspec.Struct]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in shape.__struct_fields__}


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


_ItemT = TypeVar("_ItemT")


class ListPage(NamedTuple, Generic[_ItemT]):
    """One page of a list. `errors`: why items are left out."""

    head: ListHead
    items: tuple[_ItemT, ...] = ()
    errors: tuple[ReplyError, ...] = ()

    @property
    def unresponsive(self) -> set[str]:
        """The streams or consumers whose leader does not respond."""
        return {*(self.head.missing or ()), *(self.head.offline or ())}


class _RawStreams(ListHead, frozen=True):
    streams: tuple[msgspec.Raw, ...] | None = None


class _RawConsumers(ListHead, frozen=True):
    consumers: tuple[msgspec.Raw, ...] | None = None


def read_streams(exchange: Exchange) -> ListPage[StreamReply]:
    """A page of STREAM.LIST. Raises ReplyError for one that cannot be read; an error reply is in its head."""
    return exchange.once(_decode_streams)


def read_consumers(exchange: Exchange) -> ListPage[ConsumerReply]:
    """The same of CONSUMER.LIST."""
    return exchange.once(_decode_consumers)


def _decode_streams(exchange: Exchange) -> ListPage[StreamReply]:
    try:
        page = decode(exchange.body, StreamListReply)
    except ReplyError:
        raw = decode(exchange.body, _RawStreams)
        streams, errors = decode_each(raw.streams, StreamReply)
        return ListPage(raw, tuple(streams), tuple(errors))
    return ListPage(_require_list(page), page.streams or ())


def _decode_consumers(exchange: Exchange) -> ListPage[ConsumerReply]:
    try:
        page = decode(exchange.body, ConsumerListReply)
    except ReplyError:
        raw = decode(exchange.body, _RawConsumers)
        consumers, errors = decode_each(raw.consumers, ConsumerReply)
        return ListPage(raw, tuple(consumers), tuple(errors))
    return ListPage(_require_list(page), page.consumers or ())


def _require_list(page: ListHead) -> ListHead:
    """The page. Raises ReplyError if it lacks its list, or the number of all items: some may then be missing."""
    if page.unseen and page.error is None:
        raise ReplyError(f"it lacks {' and '.join(sorted(page.unseen))}")
    return page
