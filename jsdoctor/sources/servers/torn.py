"""Assets that changed while servers were queried in parallel, so that no leader's state of them was collected.

A stream or consumer is torn if no server that responded leads it, although the leader that others name did respond, or
if no server names a leader. Most of these were created or deleted at that moment.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from jsdoctor.model.exchange import Exchange
from jsdoctor.model.jetstream import Cluster
from jsdoctor.replies.jsz import accounts_of
from jsdoctor.sources.servers.collection_result import Progress

MAX_TORN = 64
"""Maximum number of torn assets. More of them indicate an outage, in which another request would not help."""
MAX_ACCOUNTS = 8
"""Maximum number of accounts that are requested again, with one request each."""
SETTLE_S = 0.5
"""Delay after a sample before torn assets are requested again: most deletions and elections end within this time."""
_ROUNDS = 4
"""Each round waits twice as long as the one before: on a busy machine, a deletion reaches the last server late."""

Replies = Sequence[tuple[str, Exchange]]
"""JSZ replies, each with the name of the server; one for each account that was requested."""


class Asset(NamedTuple):
    """A stream, or a consumer of it, as one incarnation."""

    account: str
    stream: str
    consumer: str
    created: datetime | None


async def ask_until_settled(
    before: Replies, now: Replies, ask: Callable[[str], Awaitable[Replies]], progress: Progress
) -> None:
    """Request again the accounts, by id, whose assets are torn in the replies `now` and were not in those of `before`.

    A further round requests only assets that remain torn with the same date of creation. Assets that are torn in both
    samples are not changing at this moment.
    """
    torn = torn_assets(now)
    if torn:
        torn -= torn_assets(before)
    for number in range(_ROUNDS):
        accounts = sorted({asset.account for asset in torn})
        if not torn or len(torn) > MAX_TORN or len(accounts) > MAX_ACCOUNTS:
            return
        progress("asking again for assets that changed meanwhile")
        await asyncio.sleep(SETTLE_S * 2**number)
        replies = await asyncio.gather(*(ask(account) for account in accounts))
        torn &= torn_assets([reply for of_account in replies for reply in of_account])


def torn_assets(replies: Replies) -> set[Asset]:
    """The torn assets of JSZ replies."""
    copies_by_asset: dict[Asset, list[tuple[str, Cluster | None]]] = defaultdict(list)
    for server, exchange in replies:
        for _, account in accounts_of([exchange]):
            for stream in account.stream_detail or ():
                key = Asset(account.id or account.name, stream.config.name, "", stream.created)
                copies_by_asset[key].append((server, stream.cluster))
                for consumer in stream.consumer_detail or ():
                    consumer_key = Asset(key.account, key.stream, consumer.name, consumer.created)
                    copies_by_asset[consumer_key].append((server, consumer.cluster))
    responded = {server for server, _ in replies}
    return {asset for asset, copies in copies_by_asset.items() if _is_torn(copies, responded)}


def _is_torn(copies: Iterable[tuple[str, Cluster | None]], responded: Collection[str]) -> bool:
    leaders = set()
    for server, cluster in copies:
        if cluster is None or cluster.leader == server:
            return False
        leaders.add(cluster.leader)
    named = leaders - {""}
    return not named or bool(named.intersection(responded))
