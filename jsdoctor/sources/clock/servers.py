"""Reads servers' clocks over NATS: many short requests in a row, of which the fastest reply gives the tightest bound.

Load on a machine only delays replies and never falsifies them: the bound grows. So no round is worth a long wait, and
all of them together take a fraction of a second. The system account reads all servers; a plain account reads the server
that it is connected to and the leaders of its streams, which add their time to the stream info.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.replies.jsz import read_streams
from jsdoctor.sources.servers.account import USER_INFO
from jsdoctor.sources.servers.ask import Asker, NoReplyError, TimedReply
from jsdoctor.sources.servers.collection_result import CollectionResult
from jsdoctor.sources.servers.system import PING

ROUNDS = 15
API_ROUNDS = 5
"""Rounds of JetStream API calls: each makes a server publish an audit advisory."""
MAX_LEADERS = 9
_ENOUGH_ROUNDS = 3
_BUDGET_S = 0.2
_QUIET_S = 0.1


async def repeated(ask: Callable[[], Awaitable[bool]], rounds: int = ROUNDS) -> None:
    """Call `ask` up to `rounds` times, until the time is over or `ask` returns False: nothing more can be collected."""
    until = asyncio.get_running_loop().time() + _BUDGET_S
    for number in range(rounds):
        if number >= _ENOUGH_ROUNDS and asyncio.get_running_loop().time() > until:
            return
        if not await ask():
            return


async def all_clocks(asker: Asker, servers: int, collection: CollectionResult) -> None:
    """Add the clocks of all servers; `servers` is their number. Servers send replies to PING faster than all others."""

    async def ask() -> bool:
        seen = 0

        def is_last(_: TimedReply) -> bool:
            nonlocal seen
            seen += 1
            return seen >= servers

        try:
            replies = await asker.everyone(PING, b"", is_last, _QUIET_S)
        except NoReplyError:
            return False  # a server that does not respond already has a gap, for a request that matters more
        collection.exchanges += [reply.exchange(Access.SYSTEM, Endpoint.CLOCK, PING) for reply in replies]
        return True

    await repeated(ask)


async def clocks_of_account(
    asker: Asker, prefix: str, sample: Iterable[Exchange], collection: CollectionResult
) -> None:
    """Add the clock of the connected server, and of those that lead a stream in the sample."""
    streams = _one_stream_per_leader(sample)
    await asyncio.gather(
        _repeat_one(asker, USER_INFO, ROUNDS, collection),
        *(_repeat_one(asker, f"{prefix}.STREAM.INFO.{stream}", API_ROUNDS, collection) for stream in streams),
    )


async def _repeat_one(asker: Asker, subject: str, rounds: int, collection: CollectionResult) -> None:
    async def ask() -> bool:
        try:
            reply = await asker.one(subject)
        except NoReplyError:
            return False
        collection.exchanges.append(reply.exchange(Access.ACCOUNT, Endpoint.CLOCK, subject))
        return True

    await repeated(ask, rounds)


def _one_stream_per_leader(sample: Iterable[Exchange]) -> list[str]:
    by_leader: dict[str, str] = {}
    for exchange in sample:
        if exchange.access is Access.ACCOUNT and exchange.endpoint is Endpoint.STREAM_LIST:
            try:
                streams = read_streams(exchange).items
            except ReplyError:
                continue  # a gap where it is parsed
            for stream in streams:
                if stream.cluster and stream.cluster.leader and stream.config.name:
                    by_leader.setdefault(stream.cluster.leader, stream.config.name)
    return [by_leader[leader] for leader in sorted(by_leader)][:MAX_LEADERS]
