"""Pages of STREAM.LIST and CONSUMER.LIST, decoded once: those who collect and those who assemble read the same objects.

As with JSZ (`parse.jsz`), a page is decoded in one go, and item by item only where that fails.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import msgspec

from jsdoctor.model.exchange import Exchange
from jsdoctor.parse.replies import (
    ConsumerListReply,
    ConsumerReply,
    ListHead,
    ReplyError,
    StreamListReply,
    StreamReply,
    decode,
    decode_each,
)

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
    return exchange.once(_streams_of)


def read_consumers(exchange: Exchange) -> ListPage[ConsumerReply]:
    """The same of CONSUMER.LIST."""
    return exchange.once(_consumers_of)


def _streams_of(exchange: Exchange) -> ListPage[StreamReply]:
    try:
        page = decode(exchange.body, StreamListReply)
    except ReplyError:
        raw = decode(exchange.body, _RawStreams)
        streams, errors = decode_each(raw.streams, StreamReply)
        return ListPage(raw, tuple(streams), tuple(errors))
    return ListPage(_whole(page), page.streams or ())


def _consumers_of(exchange: Exchange) -> ListPage[ConsumerReply]:
    try:
        page = decode(exchange.body, ConsumerListReply)
    except ReplyError:
        raw = decode(exchange.body, _RawConsumers)
        consumers, errors = decode_each(raw.consumers, ConsumerReply)
        return ListPage(raw, tuple(consumers), tuple(errors))
    return ListPage(_whole(page), page.consumers or ())


def _whole(page: ListHead) -> ListHead:
    """Raises ReplyError for a page without its list, or without the number of all items: others may be missing."""
    if page.unseen and page.error is None:
        raise ReplyError(f"it lacks {' and '.join(sorted(page.unseen))}")
    return page
