"""Reading servers' clocks over NATS: many quick questions in a row, of which the quickest answer tells most.

A busy machine only makes answers later, never wrong: the bound grows. So no round is worth waiting for, and all of them
together take a fraction of a second. The system account reads all servers; a plain account the one that it is connected
to, and the leaders of its streams, who date what they say of these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from jsdoctor.collect.live.account import USER_INFO
from jsdoctor.collect.live.ask import Asker, NoReplyError, TimedReply
from jsdoctor.collect.live.collection_result import CollectionResult
from jsdoctor.collect.live.system import PING
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.jetstream import Cluster
from jsdoctor.parse.replies import ReplyError, decode

ROUNDS = 15
API_ROUNDS = 5
"""Rounds of JetStream API calls: each makes a server publish an audit advisory."""
MOST_LEADERS = 9
_ENOUGH_ROUNDS = 3
_BUDGET_S = 0.2
_QUIET_S = 0.1


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Stream(msgspec.Struct, frozen=True):
    config: _Named = _Named()
    cluster: Cluster | None = None


class _Page(msgspec.Struct, frozen=True):
    streams: tuple[_Stream, ...] | None = None


async def repeated(ask: Callable[[], Awaitable[bool]], rounds: int = ROUNDS) -> None:
    """Ask so often, or until the time is over, or until `ask` says that there is no more to be had."""
    until = asyncio.get_running_loop().time() + _BUDGET_S
    for number in range(rounds):
        if number >= _ENOUGH_ROUNDS and asyncio.get_running_loop().time() > until:
            return
        if not await ask():
            return


async def all_clocks(asker: Asker, servers: int, haul: CollectionResult) -> None:
    """The clocks of all `servers`. Of all replies, those to a PING are made the quickest."""

    async def ask() -> bool:
        seen = 0

        def is_last(_: TimedReply) -> bool:
            nonlocal seen
            seen += 1
            return seen >= servers

        try:
            replies = await asker.everyone(PING, b"", is_last, _QUIET_S)
        except NoReplyError:
            return False  # whoever does not answer is a gap already, of a request that matters more
        haul.exchanges += [reply.exchange(Access.SYSTEM, Endpoint.CLOCK, PING) for reply in replies]
        return True

    await repeated(ask)


async def clocks_of_account(asker: Asker, prefix: str, sample: Iterable[Exchange], haul: CollectionResult) -> None:
    """The clock of the server we are on, and of those that lead a stream which the sample lists."""
    streams = _one_stream_per_leader(sample)
    await asyncio.gather(
        _repeat_one(asker, USER_INFO, ROUNDS, haul),
        *(_repeat_one(asker, f"{prefix}.STREAM.INFO.{stream}", API_ROUNDS, haul) for stream in streams),
    )


async def _repeat_one(asker: Asker, subject: str, rounds: int, haul: CollectionResult) -> None:
    async def ask() -> bool:
        try:
            reply = await asker.one(subject)
        except NoReplyError:
            return False
        haul.exchanges.append(reply.exchange(Access.ACCOUNT, Endpoint.CLOCK, subject))
        return True

    await repeated(ask, rounds)


def _one_stream_per_leader(sample: Iterable[Exchange]) -> list[str]:
    found: dict[str, str] = {}
    for exchange in sample:
        if exchange.access is Access.ACCOUNT and exchange.endpoint is Endpoint.STREAM_LIST:
            try:
                page = decode(exchange.body, _Page)
            except ReplyError:
                continue  # a gap where it is parsed
            for stream in page.streams or ():
                if stream.cluster and stream.cluster.leader and stream.config.name:
                    found.setdefault(stream.cluster.leader, stream.config.name)
    return [found[leader] for leader in sorted(found)][:MOST_LEADERS]
