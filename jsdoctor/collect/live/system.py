"""Collection with a login of the system account: one request to all servers for each endpoint.

A look costs one request per endpoint whatever the number of streams, and none of it is a JetStream API call. Longest
time: two timeouts for the first sample (who is there; then all endpoints at once), one for each further one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from jsdoctor.collect.live.ask import Asker, NoReplyError, Reply
from jsdoctor.collect.live.haul import Haul, Progress, no_progress
from jsdoctor.collect.live.unanswered import hanging, late, unanswered
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.parse.replies import ReplyError, ServerIdentity, decode

PING = "$SYS.REQ.SERVER.PING"
ALL_ACCOUNTS = 1 << 30
"""A limit past any number of accounts: the default is 1,024, and 2.10 cuts its pages from a list in random order."""
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


class _Sender(msgspec.Struct, frozen=True):
    server: ServerIdentity = ServerIdentity()


@dataclass(frozen=True, slots=True)
class Roster:
    """Names of the servers that answered, by id, and of those to which a route is up and that did not."""

    present: dict[str, str]
    silent: frozenset[str]


async def find_servers(asker: Asker) -> Roster:
    """Who is there. Raises NoReplyError: of a plain account nobody takes this request."""
    present: dict[str, str] = {}
    routes: set[str] = set()
    known = 0

    def is_last(reply: Reply) -> bool:
        nonlocal known
        pong = _read(reply, _Pong)
        present[pong.server.id] = pong.server.name
        routes.update(route.name for route in pong.statsz.routes or () if route.name)
        known = max(known, pong.statsz.active_servers)
        return len(present) >= known > 0 and routes <= set(present.values())

    # The count that servers give lags: for some seconds it misses one that has just come (its routes are up at once)
    # and still has one that was killed. Where it cannot be met, silence has to tell.
    await asker.everyone(PING, b"", is_last, _QUIET_S)
    present.pop("", None)
    return Roster(present, frozenset(routes - set(present.values())))


class SystemSource:
    """Asks all servers, waits for those that are known to be there, and for none of them in vain a second time."""

    def __init__(self, asker: Asker, roster: Roster, plan: CollectionPlan) -> None:
        self._asker = asker
        self._names = roster.present
        self._silent = roster.silent
        self._given_up: set[tuple[Endpoint, str]] = set()
        self._plan = plan
        self._first = True

    @property
    def exhausted(self) -> bool:
        """Whether no server is left that answers."""
        return all((Endpoint.JSZ, server) in self._given_up for server in self._names)

    async def sample(self, progress: Progress = no_progress) -> Haul:
        """JSZ; in the first sample also VARZ and HEALTHZ, which do not change within a run."""
        haul = Haul(begun_at=asyncio.get_running_loop().time())
        asking: list[Coroutine[None, None, None]] = []
        if self._plan.assets or self._plan.accounts or self._plan.servers:
            asking.append(self._ask(haul, Endpoint.JSZ, _jsz_options(self._plan)))
        if self._first:
            if self._plan.servers:
                asking.append(self._ask(haul, Endpoint.VARZ, {}))
                asking.append(self._ask(haul, Endpoint.HEALTHZ, {"details": True}))
            haul.gaps += [hanging(name) for name in sorted(self._silent)]
        self._first = False
        progress("asking the server" if len(self._names) == 1 else f"asking {len(self._names)} servers")
        await asyncio.gather(*asking)
        return haul

    async def _ask(self, haul: Haul, endpoint: Endpoint, options: dict[str, object]) -> None:
        subject = f"{PING}.{endpoint.value}"
        awaited = {server for server in self._names if (endpoint, server) not in self._given_up}
        late_ones = set(awaited)

        def is_last(reply: Reply) -> bool:
            late_ones.discard(_read(reply, _Sender).server.id)
            return not late_ones

        try:
            replies = await self._asker.everyone(subject, msgspec.json.encode(options), is_last)
        except NoReplyError as error:
            haul.gaps.append(unanswered(error, "endpoint", CLUSTER, self._asker.timeout_s))
            self._given_up |= {(endpoint, server) for server in awaited}
            return
        haul.exchanges += [reply.exchange(Access.SYSTEM, endpoint, subject) for reply in replies]
        for server in sorted(late_ones, key=self._names.__getitem__):
            self._given_up.add((endpoint, server))
            silent = Subject(kind="server", name=self._names[server])
            haul.gaps.append(late(subject, "server", silent, self._asker.timeout_s))


def _jsz_options(plan: CollectionPlan) -> dict[str, object]:
    options: dict[str, object] = {}
    if plan.assets or plan.accounts:
        options |= {"accounts": True, "limit": ALL_ACCOUNTS}
    if plan.assets:
        options |= {"streams": True, "config": True, "consumer": plan.consumers}
    return options


def _read(reply: Reply, shape: type[_Shape]) -> _Shape:
    """What is understood of a reply here; what cannot be read becomes a gap where it is parsed."""
    try:
        return decode(reply.body, shape)
    except ReplyError:
        return shape()
