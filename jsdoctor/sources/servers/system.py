"""Collection with a login of the system account: one request to all servers for each endpoint.

A sample costs one request per endpoint whatever the number of streams, and one per account for the Raft groups; none of
them is a JetStream API call. Longest time: three timeouts for the first sample (discovery; then all endpoints at once;
then the Raft groups), two for each further one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.replies.decoding import ReplyError, ServerIdentity, decode
from jsdoctor.replies.jsz import sender_name
from jsdoctor.sources.servers.ask import Asker, NoReplyError, TimedReply, decoded
from jsdoctor.sources.servers.collection_result import CollectionResult, Progress, no_progress
from jsdoctor.sources.servers.per_account import (
    MAX_CLAIMS,
    MAX_RAFT_ACCOUNTS,
    claimed_accounts,
    clustered_accounts,
    mapped_accounts,
    switched_off,
    too_many_accounts,
    too_many_claims,
)
from jsdoctor.sources.servers.torn import Replies, ask_until_settled
from jsdoctor.sources.servers.unanswered import hanging, late, too_long, unanswered

PING = "$SYS.REQ.SERVER.PING"
ALL_ACCOUNTS = 1 << 30
"""A limit past any number of accounts: the default is 1,024, and 2.10 cuts its pages from a list in random order."""
MAX_CONNECTIONS = 10_000
"""As many closed connections as a server keeps; and as many open ones as a server still lists quickly."""
_QUIET_S = 0.5
_Shape = TypeVar("_Shape")


class _Route(msgspec.Struct, frozen=True):
    name: str = ""


class _Statsz(msgspec.Struct, frozen=True):
    active_servers: int = 0
    routes: tuple[_Route, ...] | None = None


class _Pong(msgspec.Struct, frozen=True):
    server: ServerIdentity = ServerIdentity()
    statsz: _Statsz = _Statsz()


class _Status(msgspec.Struct, frozen=True):
    status: str = ""


class _Health(msgspec.Struct, frozen=True):
    data: _Status = _Status()


@dataclass(frozen=True, slots=True)
class Roster:
    """Names of the servers that responded, by id, and of those to which a route is up and that did not."""

    present: dict[str, str]
    silent: frozenset[str]


async def find_servers(asker: Asker) -> Roster:
    """Discover the servers. Raises NoReplyError: with a plain account, no server receives this request."""
    present: dict[str, str] = {}
    routes: set[str] = set()
    known = 0

    def is_last(reply: TimedReply) -> bool:
        nonlocal known
        # Decode the fields of a reply that are needed here; what cannot be decoded becomes a gap where it is parsed.
        pong = _decoded(reply.body, _Pong)
        present[pong.server.id] = pong.server.name
        routes.update(route.name for route in pong.statsz.routes or () if route.name)
        known = max(known, pong.statsz.active_servers)
        return len(present) >= known > 0 and routes <= set(present.values())

    # The count in the replies lags: for some seconds it misses a server that has just started (its routes are up at
    # once) and still includes one that was killed. If it cannot be reached, discovery ends when no more replies come.
    await asker.everyone(PING, b"", is_last, _QUIET_S)
    present.pop("", None)
    return Roster(present, frozenset(routes - set(present.values())))


_LINKS: tuple[tuple[Endpoint, dict[str, object]], ...] = tuple(
    (item, {}) for item in (Endpoint.GATEWAYZ, Endpoint.LEAFZ, Endpoint.ROUTEZ)
)
"""Requested in every sample: connections between servers that come and go show in two of them."""


class SystemSource:
    """Queries all servers and waits for those that are known; it waits only once for a server that does not respond."""

    def __init__(self, asker: Asker, roster: Roster, plan: CollectionPlan) -> None:
        self._asker = asker
        self._names = roster.present
        self._silent = roster.silent
        self._given_up: set[tuple[Endpoint, str]] = set()
        self._plan = plan
        self._first = True
        self._samples: list[Replies] = [(), ()]
        self._unhealthy = False

    @property
    def exhausted(self) -> bool:
        """Whether no server is left that responds."""
        return all((Endpoint.JSZ, server) in self._given_up for server in self._names)

    async def sample(self, progress: Progress = no_progress) -> CollectionResult:
        """What changes from one sample to the next; in the first one also what does not change within a run."""
        collection = CollectionResult(begun_at=asyncio.get_running_loop().time())
        asking = [self._ask_assets(collection, self._first)]
        if self._plan.servers and (self._first or self._plan.server_rates):
            asking.append(self._ask(collection, Endpoint.VARZ, {}))
        if self._first:
            asking += [
                self._ask(collection, endpoint, options) for endpoint, options in _first_sample_requests(self._plan)
            ]
            if self._plan.claims:
                asking.append(self._ask_claims(collection))
            collection.gaps += [hanging(name) for name in sorted(self._silent)]
        elif self._plan.links:
            asking += [self._ask(collection, endpoint, options) for endpoint, options in _LINKS]
        if not self._first and self._unhealthy:  # assets that were made at that moment are not current yet
            asking.append(self._ask(collection, Endpoint.HEALTHZ, {"details": True}))
        self._first = False
        progress("asking the server" if len(self._names) == 1 else f"asking {len(self._names)} servers")
        await asyncio.gather(*asking)
        self._samples = [self._samples[-1], _by_server(collection.exchanges, Endpoint.JSZ)]
        self._unhealthy = any(_is_unhealthy(e.body) for e in collection.exchanges if e.endpoint is Endpoint.HEALTHZ)
        return collection

    async def repeat(self, progress: Progress = no_progress) -> CollectionResult:
        """Request again the accounts with assets that changed while the last sample was taken."""
        collection = CollectionResult()
        options = _jsz_options(self._plan)

        async def ask(account: str) -> Replies:
            result = CollectionResult()
            await self._ask(result, Endpoint.JSZ_AGAIN, options | {"account": account})
            collection.exchanges += result.exchanges
            collection.gaps += result.gaps
            return _by_server(result.exchanges, Endpoint.JSZ_AGAIN)

        if self._plan.assets:
            before, now = self._samples
            await ask_until_settled(before, now, ask, progress)
        return collection

    async def _ask_assets(self, collection: CollectionResult, first: bool) -> None:
        """JSZ; then the Raft groups of the accounts in it, as servers report the groups of one account at a time.

        In the first sample also their mappings.
        """
        if self._plan.assets or self._plan.accounts or self._plan.servers or self._plan.raft:
            await self._ask(collection, Endpoint.JSZ, _jsz_options(self._plan))
        replies = [e for e in collection.exchanges if e.endpoint is Endpoint.JSZ]
        if self._plan.raft:
            await self._ask_groups(collection, replies)
        if first and self._plan.mappings:
            names, left_out = mapped_accounts(replies, self._plan)
            collection.gaps += left_out
            await asyncio.gather(*(self._ask(collection, Endpoint.ACCOUNTZ, {"account": name}) for name in names))

    async def _ask_groups(self, collection: CollectionResult, replies: list[Exchange]) -> None:
        """RAFTZ of all servers; one server at a time where one must be left out (see `switched_off`)."""
        names = clustered_accounts(replies)
        if len(names) > MAX_RAFT_ACCOUNTS:
            collection.gaps.append(too_many_accounts(len(names)))
        # Without an account, servers report the system account, whose only group is the meta group.
        asked = [{"account": name} if name else {} for name in ("", *names[:MAX_RAFT_ACCOUNTS])]
        if not (off := switched_off(replies)):
            await asyncio.gather(*(self._ask(collection, Endpoint.RAFTZ, {**options}) for options in asked))
            return
        hopeless = self._hopeless(Endpoint.RAFTZ)
        others = {id_: name for id_, name in self._names.items() if name not in off and id_ not in hopeless}
        await asyncio.gather(
            *(
                self._ask(collection, Endpoint.RAFTZ, {**options, "server_name": name, "exact_match": True}, {id_})
                for options in asked
                for id_, name in others.items()
            )
        )

    def _hopeless(self, endpoint: Endpoint) -> set[str]:
        """Ids of the servers that did not respond to an earlier request of that endpoint, or of JSZ."""
        return {server for asked, server in self._given_up if asked in (endpoint, Endpoint.JSZ)}

    async def _ask_claims(self, collection: CollectionResult) -> None:
        """ACCOUNTZ; then, in operator mode, each account that it names."""
        await self._ask(collection, Endpoint.ACCOUNTZ, {})
        keys = claimed_accounts([e.body for e in collection.exchanges if e.endpoint is Endpoint.ACCOUNTZ])
        if len(keys) > MAX_CLAIMS:
            collection.gaps.append(too_many_claims(len(keys)))
        await asyncio.gather(*(self._ask(collection, Endpoint.ACCOUNTZ, {"account": key}) for key in keys[:MAX_CLAIMS]))

    async def _ask(
        self, collection: CollectionResult, endpoint: Endpoint, options: dict[str, object], only: set[str] | None = None
    ) -> None:
        """Request one endpoint of all servers. `only`: ids of the servers that `options` select."""
        subject = f"{PING}.{endpoint.value.partition('.')[0]}"
        awaited = (only or self._names.keys()) - self._hopeless(endpoint)
        unseen = set(self._names)
        discarded = 0  # their senders are known once all others have responded

        def is_last(reply: TimedReply) -> bool:
            nonlocal discarded
            discarded += reply.too_long
            return len(awaited & unseen) <= discarded

        try:
            body = msgspec.json.encode(options)
            replies = await self._asker.everyone(subject, body, is_last, awaited=unseen, packed=True)
        except NoReplyError as error:
            collection.gaps.append(unanswered(error, "endpoint", CLUSTER, self._asker.timeout_s))
            self._given_up |= {(endpoint, server) for server in awaited}
            return
        while replies:  # each goes before the next is decoded
            reply = replies.pop(0)
            if not reply.too_long:
                collection.exchanges.append(decoded(reply.exchange(Access.SYSTEM, endpoint, subject), self._plan))
                await asyncio.sleep(0)  # to decode a large one takes a second, in which replies to other requests wait
        for server in sorted(awaited & unseen, key=self._names.__getitem__):
            self._given_up.add((endpoint, server))
            silent = Subject(kind="server", name=self._names[server])
            collection.gaps.append(
                too_long(subject, silent) if discarded else late(subject, "server", silent, self._asker.timeout_s)
            )


def _first_sample_requests(plan: CollectionPlan) -> list[tuple[Endpoint, dict[str, object]]]:
    asked: list[tuple[Endpoint, dict[str, object]]] = []
    if plan.servers:
        asked.append((Endpoint.HEALTHZ, {"details": True}))
    if plan.connections or plan.subscriptions:
        detail = {"subscriptions_detail": True} if plan.subscriptions else {}
        asked.append((Endpoint.CONNZ, {"auth": True, "limit": MAX_CONNECTIONS, **detail}))
    if plan.connections:
        # 1 is the server's number for closed; it lists them newest first when sorted by their end.
        asked.append((Endpoint.CONNZ_CLOSED, {"auth": True, "limit": MAX_CONNECTIONS, "state": 1, "sort": "stop"}))
    if plan.links:
        asked += _LINKS
    return asked


def _jsz_options(plan: CollectionPlan) -> dict[str, object]:
    options: dict[str, object] = {}
    if plan.assets or plan.accounts or plan.raft:
        options |= {"accounts": True, "limit": ALL_ACCOUNTS}
    if plan.assets:
        options |= {"streams": True, "config": True, "consumer": plan.consumers}
    return options


def _by_server(exchanges: Iterable[Exchange], endpoint: Endpoint) -> Replies:
    """The replies with the names of the servers."""
    return [(sender_name(e), e) for e in exchanges if e.endpoint is endpoint]


def _is_unhealthy(body: bytes) -> bool:
    return _decoded(body, _Health).data.status not in ("", "ok")


def _decoded(body: bytes, shape: type[_Shape]) -> _Shape:
    try:
        return decode(body, shape)
    except ReplyError:
        return shape()
