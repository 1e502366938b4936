"""Requests whether the leaders of idle streams subscribe to their subjects (JSD730)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import NamedTuple

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.leader_interest import LeaderInterest, Listening
from jsdoctor.replies.decoding import ReplyError, StreamReply, decode
from jsdoctor.replies.jsz import read_jsz
from jsdoctor.sources.servers.ask import Asker, NoReplyError, TimedReply

_MAX_STREAMS = 10
_SLOW_NS = 100_000_000
"""A server that takes longer is not queried again: it searches all subscriptions of the account, 100,000 in 0.2 s."""
_SILENCE = timedelta(seconds=30)
_PAUSE_S = 1.0
_REQUEST = "$SYS.REQ.SERVER.PING.SUBSZ"


class _Subscription(msgspec.Struct, frozen=True):
    subject: str = ""


class _Subsz(msgspec.Struct, frozen=True):
    subscriptions_list: tuple[_Subscription, ...] = ()


class _SubszEnvelope(msgspec.Struct, frozen=True):
    data: _Subsz


class _LedStream(NamedTuple):
    """A stream and its leader; `account_id` is what the server knows its account by."""

    account: str
    account_id: str
    server: str
    stream: StreamReply


async def ask_leader_interest(asker: Asker, samples: Sequence[Sample]) -> tuple[Exchange, ...]:
    """Whether each leader of an idle stream listens, in a form of our own; nothing where no server showed streams."""
    if not any(map(_shows_streams, samples[-1].exchanges)):
        return ()
    asked_at = datetime.now(UTC)
    streams: list[Listening] = []
    slow: set[str] = set()
    for led in _idle_streams(samples):
        listens = None if led.server in slow else await _leader_listens(asker, led, slow)
        config = led.stream.config
        streams.append(Listening(led.account, config.name, led.server, config.subjects[0], listens, datetime.now(UTC)))
    body = msgspec.json.encode(LeaderInterest(tuple(streams)))
    return (Exchange(Access.SYSTEM, Endpoint.SUBSZ, _REQUEST, asked_at, 0, body),)


async def _leader_listens(asker: Asker, led: _LedStream, slow: set[str]) -> bool | None:
    """Whether the leader subscribes to the stream's subject; None without a reply.

    Requested twice, as a leader that was just elected subscribes late. Adds a slow server to `slow`.
    """
    for pause_s in (0.0, _PAUSE_S):
        await asyncio.sleep(pause_s)
        try:
            reply = await _request_subscriptions(asker, led)
            listens = _is_subscribed(led, reply)
        except (NoReplyError, ReplyError):
            slow.add(led.server)
            return None
        if reply.round_trip_ns > _SLOW_NS:
            slow.add(led.server)
        if listens:
            return True
    return False


def _idle_streams(samples: Sequence[Sample]) -> list[_LedStream]:
    """Streams without a new message for `_SILENCE`, the most recently used first: these may have just fallen silent."""
    latest = samples[0].taken_at - _SILENCE
    silent = [(last, led) for led in _led_streams(samples[-1]) if (last := led.stream.state.last_ts) and last < latest]
    return [led for _, led in sorted(silent, key=itemgetter(0), reverse=True)[:_MAX_STREAMS]]


def _shows_streams(exchange: Exchange) -> bool:
    return exchange.endpoint is Endpoint.JSZ and exchange.access is Access.SYSTEM


def _led_streams(sample: Sample) -> Iterator[_LedStream]:
    """Streams with subjects of their own, as their leaders show them."""
    for exchange in filter(_shows_streams, sample.exchanges):
        try:
            sender, reply, *_ = read_jsz(exchange)
        except ReplyError:
            continue
        for account in reply.account_details or ():
            for stream in account.stream_detail or ():
                if stream.config.subjects and (stream.cluster is None or stream.cluster.leader == sender.name):
                    yield _LedStream(account.name, account.id or account.name, sender.name, stream)


async def _request_subscriptions(asker: Asker, led: _LedStream) -> TimedReply:
    literal = ".".join("x" if token in ("*", ">") else token for token in led.stream.config.subjects[0].split("."))
    options = {"subscriptions": True, "test": literal, "account": led.account_id, "limit": 1000}
    return await asker.one(_REQUEST, msgspec.json.encode({**options, "server_name": led.server, "exact_match": True}))


def _is_subscribed(led: _LedStream, reply: TimedReply) -> bool:
    listed = decode(reply.body, _SubszEnvelope).data.subscriptions_list
    return any(each.subject == led.stream.config.subjects[0] for each in listed)
