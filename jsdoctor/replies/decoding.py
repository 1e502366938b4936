"""Shapes of the replies that jsdoctor requests from servers, and their decoding."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TypeVar, cast

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.reported import Instant, Reported, read_noting_defaults, sent
from jsdoctor.model.server import ApiStats, JetStreamStats, Tier
from jsdoctor.model.snapshot import ConsumerReport, StreamReport
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.unseen import with_lacking

Shape = TypeVar("Shape")
YEARS = range(2000, 2200)
"""Years of valid times; others are mistakes, and durations between them would overflow."""


class ReplyError(ValueError):
    """A reply that is not what its endpoint promises: broken JSON or wrong types, or an error from the server."""


class ApiRefusedError(ReplyError):
    """The server responded with an error of the JetStream API."""

    def __init__(self, error: ErrorReply) -> None:
        super().__init__(f"the server replied: {error.description} (error {error.err_code or error.code})")
        self.err_code = error.err_code


class ServerIdentity(msgspec.Struct, frozen=True):
    """The `server` part of a system-account reply (server: events.go ServerInfo).

    `jetstream`: the server was started with JetStream, which it may have switched off since.
    """

    name: str = ""
    id: str = ""
    cluster: str = ""
    ver: str = ""
    time: Instant | None = None
    domain: str = ""
    jetstream: bool = False


class ErrorReply(msgspec.Struct, frozen=True):
    """An error reply of the JetStream API or of a system request."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class SystemEnvelope(msgspec.Struct, frozen=True):
    """What wraps every system-account reply."""

    server: ServerIdentity = ServerIdentity()
    data: msgspec.Raw = msgspec.Raw()
    error: ErrorReply | None = None


class ConsumerReply(ConsumerReport, frozen=True, kw_only=True):
    """A consumer as CONSUMER.LIST and jsz show it."""

    stream_name: str
    name: str
    ts: Instant | None = sent(None)


class StreamHead(StreamReport, frozen=True):
    """A stream without its consumers."""

    ts: Instant | None = None

    def __post_init__(self) -> None:
        if not self.config.name:
            raise ValueError("a stream has no name")


class StreamReply(StreamHead, frozen=True):
    """A stream as STREAM.LIST and jsz show it; jsz nests the consumers (omitted when none), STREAM.LIST adds `ts`."""

    consumer_detail: tuple[ConsumerReply, ...] | None = None


class AccountHead(Reported, frozen=True):
    """One account in jsz without its streams. `reserved_*` are its limits there, 2^64-1 when there is none."""

    name: str = ""
    id: str = ""
    memory: int = sent(0)
    storage: int = sent(0)
    reserved_memory: int = sent(0)
    reserved_storage: int = sent(0)
    api: ApiStats = sent(ApiStats())


class AccountDetail(AccountHead, frozen=True):
    """One account in jsz."""

    stream_detail: tuple[StreamReply, ...] | None = None


class JszHead(JetStreamStats, frozen=True):
    """JetStream of one server without its accounts (server: monitor.go Jsz)."""

    server_id: str = sent("")
    now: Instant | None = sent(None)


class JszReply(JszHead, frozen=True):
    """JetStream of one server with its accounts. Read it with `replies.jsz`."""

    account_details: tuple[AccountDetail, ...] | None = None

    @property
    def domain(self) -> str:
        """The JetStream domain that the server belongs to; most have none."""
        return self.config.domain if self.config else ""


class StreamInfoReply(msgspec.Struct, frozen=True):
    """Whether STREAM.INFO is an error; else it is a `StreamReply`."""

    error: ErrorReply | None = None


class ListHead(Reported, frozen=True):
    """One page of a list without its items. `missing` names those whose leader sent the server no reply in time."""

    total: int = sent(0)
    offset: int = 0
    limit: int = 0
    missing: tuple[str, ...] | None = None
    offline: dict[str, str] | None = None
    error: ErrorReply | None = None


class StreamListReply(ListHead, frozen=True):
    """One page of STREAM.LIST. Read it with `replies.account`."""

    streams: tuple[StreamReply, ...] | None = sent(None)


class ConsumerListReply(ListHead, frozen=True):
    """One page of CONSUMER.LIST. Read it with `replies.account`."""

    consumers: tuple[ConsumerReply, ...] | None = sent(None)


class AccountInfoReply(Tier, frozen=True):
    """`$JS.API.INFO`. With a tiered account the figures are under `tiers`."""

    tiers: dict[str, Tier] | None = None
    error: ErrorReply | None = None


class UserInfoData(msgspec.Struct, frozen=True):
    """The `data` part of `$SYS.REQ.USER.INFO`. `account_name` is absent on some versions."""

    user: str = ""
    account: str = ""
    account_name: str = ""

    @property
    def label(self) -> str:
        """The name of the account, or its key."""
        return self.account_name or self.account


def user_of(body: bytes) -> UserInfoData:
    """The user in a reply to `$SYS.REQ.USER.INFO`. Raises ReplyError."""
    return decode(decode(body, SystemEnvelope).data, UserInfoData)


class GreetingReply(msgspec.Struct, frozen=True):
    """The INFO line. Newer servers name the account there that a client has logged in to."""

    remote_account: str = ""


def decode(body: bytes | msgspec.Raw, shape: type[Shape]) -> Shape:
    """Decode a reply. Raises `ReplyError` with the place of the first mistake.

    If fields that servers always send are missing, the objects that lack them name them in `unseen`.
    """
    reply, lacks = read_noting_defaults(partial(decode_pasted, body, shape))
    return cast("Shape", with_lacking(reply, decode_pasted(body, object))[0]) if lacks else reply


def decode_pasted(body: bytes | msgspec.Raw, shape: type[Shape]) -> Shape:
    """Like `decode`, but missing fields are not noted: for pasted replies `pasted` does that."""
    try:
        return decode_as(body, shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReplyError(str(error)) from error


def decode_each(items: Iterable[msgspec.Raw] | None, shape: type[Shape]) -> tuple[list[Shape], list[ReplyError]]:
    """Decode the items of a list one by one: one that cannot be read does not take the others with it."""
    shapes: list[Shape] = []
    errors: list[ReplyError] = []
    for item in items or ():
        try:
            shapes.append(decode(item, shape))
        except ReplyError as error:
            errors.append(error)
    return shapes, errors


def own_form(
    exchanges: Iterable[Exchange], endpoint: Endpoint, shape: type[Shape]
) -> tuple[list[Shape], list[tuple[Exchange, ReplyError]]]:
    """The decoded bodies of an endpoint that jsdoctor writes itself, and the exchanges that cannot be decoded."""
    shapes: list[Shape] = []
    unread: list[tuple[Exchange, ReplyError]] = []
    for exchange in exchanges:
        if exchange.endpoint is endpoint:
            try:
                shapes.append(decode(exchange.body, shape))
            except ReplyError as error:
                unread.append((exchange, error))
    return shapes, unread
