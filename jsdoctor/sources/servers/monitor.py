"""Collection from HTTP monitoring ports: each reports its own server, for all accounts, without a NATS login.

A sample costs some requests per server, the first one a few more: /varz names the server, and /healthz makes an
unhealthy server write a line to its log. Raft groups cost one request per account. Ports that did not respond in the
first sample are left out of the others.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from time import monotonic_ns

import httpx2
import msgspec

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.reports import NO_RAFT_GROUPS
from jsdoctor.sources.servers.ask import decoded
from jsdoctor.sources.servers.collection_result import CollectionResult, Progress, no_progress
from jsdoctor.sources.servers.monitor_body import Budget, MonitorError, get, http_refusal, transport_refusal
from jsdoctor.sources.servers.monitor_url import MonitorUrl, mounts_for
from jsdoctor.sources.servers.per_account import (
    MAX_CLAIMS,
    MAX_RAFT_ACCOUNTS,
    claimed_accounts,
    clustered_accounts,
    mapped_accounts,
    too_many_accounts,
    too_many_claims,
)
from jsdoctor.sources.servers.system import ALL_ACCOUNTS, MAX_CONNECTIONS
from jsdoctor.sources.servers.torn import Replies, ask_until_settled

_PATHS = {
    Endpoint.VARZ: "/varz",
    Endpoint.JSZ: "/jsz",
    Endpoint.JSZ_AGAIN: "/jsz",
    Endpoint.HEALTHZ: "/healthz",
    Endpoint.RAFTZ: "/raftz",
    Endpoint.CONNZ: "/connz",
    Endpoint.CONNZ_CLOSED: "/connz",
    Endpoint.GATEWAYZ: "/gatewayz",
    Endpoint.LEAFZ: "/leafz",
    Endpoint.ROUTEZ: "/routez",
    Endpoint.ACCOUNTZ: "/accountz",
}


_LINKS: tuple[tuple[Endpoint, dict[str, str]], ...] = tuple(
    (item, {}) for item in (Endpoint.GATEWAYZ, Endpoint.LEAFZ, Endpoint.ROUTEZ)
)
"""Requested in every sample: connections between servers that come and go show in two of them."""


class _Reply(msgspec.Struct, frozen=True):
    """The fields of /varz, /jsz and /healthz that identify a NATS server."""

    server_id: str = ""
    server_name: str = ""
    status: str = ""


class MonitorSource:
    """Queries the given monitoring ports. `tls` verifies those of https; None: against the system's authorities."""

    def __init__(self, urls: Iterable[MonitorUrl], plan: CollectionPlan, tls: ssl.SSLContext | None = None) -> None:
        self._urls = list(dict.fromkeys(urls))
        self._plan = plan
        secure = any(url.base.startswith("https://") for url in self._urls)
        self._tls = tls or (ssl.create_default_context() if secure else None)
        self._first = True
        self._names: dict[str, str] = {}
        self._unhealthy: set[str] = set()
        self._samples: list[list[tuple[str, Exchange]]] = [[], []]
        self._budgets: defaultdict[MonitorUrl, Budget] = defaultdict(Budget)

    @property
    def exhausted(self) -> bool:
        """Whether no port is left that responds."""
        return not self._urls

    async def sample(self, progress: Progress = no_progress) -> CollectionResult:
        """/jsz of every server; in the first sample /varz and /healthz too."""
        self._samples = [self._samples[-1], []]
        self._budgets = defaultdict(Budget)
        collection = CollectionResult(begun_at=asyncio.get_running_loop().time())
        progress("asking the monitoring port" if len(self._urls) == 1 else f"asking {len(self._urls)} monitoring ports")
        async with self._client() as client:
            answered = await asyncio.gather(*(self._ask_server(client, url, collection) for url in self._urls))
        self._urls = [url for url, alive in zip(self._urls, answered, strict=True) if alive]
        self._first = False
        return collection

    async def repeat(self, progress: Progress = no_progress) -> CollectionResult:
        """Request again the accounts with assets that changed while the last sample was taken."""
        collection = CollectionResult()

        async def ask(account: str) -> Replies:
            async with self._client() as client:
                replies = await asyncio.gather(
                    *(self._ask_again(client, url, collection, account) for url in self._urls)
                )
            return [(self._names.get(u.base, u.base), e) for u, e in zip(self._urls, replies, strict=True) if e]

        if self._plan.assets:
            before, now = self._samples
            await ask_until_settled(before, now, ask, progress)
        return collection

    def _client(self) -> httpx2.AsyncClient:
        verify = self._tls or False  # False only where no URL is https: a context takes time to make
        return httpx2.AsyncClient(verify=verify, timeout=self._plan.timeout_s, mounts=mounts_for(self._urls))

    async def _ask_server(self, client: httpx2.AsyncClient, url: MonitorUrl, collection: CollectionResult) -> bool:
        """Whether another request to that port is useful."""
        try:
            if self._first or self._plan.server_rates:
                await self._ask(client, url, Endpoint.VARZ, {}, collection)
        except MonitorError as error:
            collection.gaps.append(error.gap)
            return False
        asking = [self._ask_jsz(client, url, collection)]
        if self._first:
            asking += [
                self._try(client, url, endpoint, options, collection)
                for endpoint, options in _first_sample_requests(self._plan)
            ]
            if self._plan.claims:
                asking.append(self._ask_claims(client, url, collection))
        elif self._plan.links:
            asking += [self._try(client, url, endpoint, options, collection) for endpoint, options in _LINKS]
        if not self._first and url.base in self._unhealthy:  # assets that were made at that moment are not current yet
            asking.append(self._try(client, url, Endpoint.HEALTHZ, {"details": "true"}, collection))
        alive = (await asyncio.gather(*asking))[0]
        if alive:
            await self._ask_accounts(client, url, collection)
        return alive

    async def _ask_accounts(self, client: httpx2.AsyncClient, url: MonitorUrl, collection: CollectionResult) -> None:
        """In the first sample the mappings, in every one the Raft groups of the accounts in /jsz, one at a time."""
        replies = [e for e in collection.exchanges if e.target.startswith(url.base + "/jsz")]
        if self._first and self._plan.mappings:
            names, left_out = mapped_accounts(replies, self._plan)
            collection.gaps += left_out
            for name in names:
                await self._try(client, url, Endpoint.ACCOUNTZ, {"acc": name}, collection)
        if self._plan.raft:
            names = clustered_accounts(replies)
            if len(names) > MAX_RAFT_ACCOUNTS:
                collection.gaps.append(too_many_accounts(len(names)))
            for name in ("", *names[:MAX_RAFT_ACCOUNTS]):
                await self._try(client, url, Endpoint.RAFTZ, {"acc": name} if name else {}, collection)

    async def _ask_jsz(self, client: httpx2.AsyncClient, url: MonitorUrl, collection: CollectionResult) -> bool:
        try:
            reply = await self._ask(client, url, Endpoint.JSZ, self._jsz_options(), collection)
        except MonitorError as error:
            collection.gaps.append(error.gap)
            return False
        self._samples[-1].append((self._names.get(url.base, url.base), reply))
        return True

    async def _ask_again(
        self, client: httpx2.AsyncClient, url: MonitorUrl, collection: CollectionResult, account: str
    ) -> Exchange | None:
        """None where there was no reply."""
        try:
            return await self._ask(client, url, Endpoint.JSZ_AGAIN, self._jsz_options() | {"acc": account}, collection)
        except MonitorError as error:
            collection.gaps.append(error.gap)
            return None

    def _jsz_options(self) -> dict[str, str]:
        options: dict[str, str] = {}
        if self._plan.assets or self._plan.accounts or self._plan.raft:
            options |= {"accounts": "true", "limit": str(ALL_ACCOUNTS)}
        if self._plan.assets:
            options |= {"streams": "true", "config": "true"}
            options |= {"consumers": "true"} if self._plan.consumers else {}
        return options

    async def _ask_claims(self, client: httpx2.AsyncClient, url: MonitorUrl, collection: CollectionResult) -> bool:
        """/accountz; then, in operator mode, each account that it names."""
        await self._try(client, url, Endpoint.ACCOUNTZ, {}, collection)
        keys = claimed_accounts([e.body for e in collection.exchanges if e.target.startswith(url.base + "/accountz")])
        if len(keys) > MAX_CLAIMS:
            collection.gaps.append(too_many_claims(len(keys)))
        for key in keys[:MAX_CLAIMS]:
            await self._try(client, url, Endpoint.ACCOUNTZ, {"acc": key}, collection)
        return True

    async def _try(
        self,
        client: httpx2.AsyncClient,
        url: MonitorUrl,
        endpoint: Endpoint,
        options: dict[str, str],
        collection: CollectionResult,
    ) -> bool:
        """Request an endpoint whose failure is only a gap, and no reason to stop."""
        try:
            await self._ask(client, url, endpoint, options, collection)
        except MonitorError as error:
            collection.gaps.append(error.gap)
        return True

    async def _ask(
        self,
        client: httpx2.AsyncClient,
        url: MonitorUrl,
        endpoint: Endpoint,
        options: dict[str, str],
        collection: CollectionResult,
    ) -> Exchange:
        """The reply. Raises MonitorError."""
        target = httpx2.URL(url.base + _PATHS[endpoint], params=options)
        started, asked_at = monotonic_ns(), datetime.now(UTC)
        try:
            response = await get(client, target, url, self._budgets[url], self._plan.timeout_s)
        except (httpx2.HTTPError, OSError) as error:
            raise MonitorError(url.base, transport_refusal(error, url.base, self._plan.timeout_s)) from None
        try:
            reply = decode_as(response.content, _Reply)
        except (msgspec.MsgspecError, RecursionError):
            reply = _Reply()
        if not _is_told(endpoint, response, reply):
            raise MonitorError(url.base, http_refusal(response, url.base))
        if reply.server_name:
            self._names[url.base] = reply.server_name
        if endpoint is Endpoint.HEALTHZ and reply.status != "ok":
            self._unhealthy.add(url.base)
        took_ns = monotonic_ns() - started
        exchange = Exchange(Access.MONITOR, endpoint, str(target), asked_at, took_ns, response.content)
        collection.exchanges.append(kept := decoded(exchange, self._plan))
        return kept


def _is_told(endpoint: Endpoint, response: httpx2.Response, reply: _Reply) -> bool:
    if endpoint is Endpoint.HEALTHZ:  # an unhealthy server sends an error status and a body with the reason
        return bool(reply.status)
    if endpoint is Endpoint.RAFTZ:  # names no server; if there are no groups, the status is an error
        return response.is_success or response.text.startswith(NO_RAFT_GROUPS)
    return bool(reply.server_id) and response.is_success


def _first_sample_requests(plan: CollectionPlan) -> list[tuple[Endpoint, dict[str, str]]]:
    asked: list[tuple[Endpoint, dict[str, str]]] = []
    if plan.servers:
        asked.append((Endpoint.HEALTHZ, {"details": "true"}))
    options = {"auth": "true", "limit": str(MAX_CONNECTIONS)}
    if plan.connections or plan.subscriptions:
        asked.append((Endpoint.CONNZ, options | ({"subs": "detail"} if plan.subscriptions else {})))
    if plan.connections:
        asked.append((Endpoint.CONNZ_CLOSED, options | {"state": "closed", "sort": "stop"}))
    if plan.links:
        asked += _LINKS
    return asked
