"""Collection from HTTP monitoring ports: each tells of its own server, for all accounts, without a NATS login.

A sample costs one request per server; the first also /varz, which names the server, and /healthz, which makes an
unhealthy server write a line to its log. Longest time: two timeouts for the first sample, one for each further one.
What did not answer in the first sample is not asked again.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from datetime import UTC, datetime
from time import monotonic_ns

import httpx
import msgspec

from jsdoctor.collect.live.haul import Haul, Progress, no_progress
from jsdoctor.collect.live.monitor_refusal import MonitorError, http_refusal, transport_refusal
from jsdoctor.collect.live.monitor_url import MonitorUrl
from jsdoctor.collect.live.system import ALL_ACCOUNTS
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange

_PATHS = {Endpoint.VARZ: "/varz", Endpoint.JSZ: "/jsz", Endpoint.HEALTHZ: "/healthz"}
_DIRECT = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
"""No proxy lies between us and this machine, whatever the environment says."""


class _Reply(msgspec.Struct, frozen=True):
    """Enough of /varz, /jsz and /healthz to know that a NATS server sent it."""

    server_id: str = ""
    status: str = ""


class MonitorSource:
    """Asks the given monitoring ports. `tls` verifies those of https; None: against the system's authorities."""

    def __init__(self, urls: Iterable[MonitorUrl], plan: CollectionPlan, tls: ssl.SSLContext | None = None) -> None:
        self._urls = list(dict.fromkeys(urls))
        self._plan = plan
        secure = any(url.base.startswith("https://") for url in self._urls)
        self._tls = tls or (ssl.create_default_context() if secure else None)
        self._first = True

    @property
    def exhausted(self) -> bool:
        """Whether no port is left that answers."""
        return not self._urls

    async def sample(self, progress: Progress = no_progress) -> Haul:
        """/jsz of every server; in the first sample /varz and /healthz too."""
        haul = Haul(begun_at=asyncio.get_running_loop().time())
        progress("asking the monitoring port" if len(self._urls) == 1 else f"asking {len(self._urls)} monitoring ports")
        verify = self._tls or False  # False only where no URL is https: a context takes time to make
        async with httpx.AsyncClient(verify=verify, timeout=self._plan.timeout_s, mounts=_DIRECT) as client:
            answered = await asyncio.gather(*(self._ask_server(client, url, haul) for url in self._urls))
        self._urls = [url for url, alive in zip(self._urls, answered, strict=True) if alive]
        self._first = False
        return haul

    async def _ask_server(self, client: httpx.AsyncClient, url: MonitorUrl, haul: Haul) -> bool:
        """Whether that port is worth asking again."""
        try:
            if self._first:
                await self._ask(client, url, Endpoint.VARZ, {}, haul)
        except MonitorError as error:
            haul.gaps.append(error.gap)
            return False
        asking = [self._ask_jsz(client, url, haul)]
        if self._first and self._plan.servers:
            asking.append(self._ask_health(client, url, haul))
        return (await asyncio.gather(*asking))[0]

    async def _ask_jsz(self, client: httpx.AsyncClient, url: MonitorUrl, haul: Haul) -> bool:
        options: dict[str, str] = {}
        if self._plan.assets or self._plan.accounts:
            options |= {"accounts": "true", "limit": str(ALL_ACCOUNTS)}
        if self._plan.assets:
            options |= {"streams": "true", "config": "true"}
            options |= {"consumers": "true"} if self._plan.consumers else {}
        try:
            await self._ask(client, url, Endpoint.JSZ, options, haul)
        except MonitorError as error:
            haul.gaps.append(error.gap)
            return False
        return True

    async def _ask_health(self, client: httpx.AsyncClient, url: MonitorUrl, haul: Haul) -> bool:
        try:
            await self._ask(client, url, Endpoint.HEALTHZ, {"details": "true"}, haul)
        except MonitorError as error:
            haul.gaps.append(error.gap)
        return True

    async def _ask(
        self, client: httpx.AsyncClient, url: MonitorUrl, endpoint: Endpoint, options: dict[str, str], haul: Haul
    ) -> None:
        """Raises MonitorError."""
        target = httpx.URL(url.base + _PATHS[endpoint], params=options)
        asked_at, started = datetime.now(UTC), monotonic_ns()
        try:
            async with asyncio.timeout(self._plan.timeout_s):  # httpx counts from one piece of the reply to the next
                response = await client.get(target, auth=url.login)
        except (httpx.HTTPError, OSError) as error:
            raise MonitorError(url.base, transport_refusal(error, url.base, self._plan.timeout_s)) from None
        try:
            reply = msgspec.json.decode(response.content, type=_Reply)
        except msgspec.MsgspecError:
            reply = _Reply()
        # An unhealthy server answers /healthz with an error status and a body that says why.
        told = reply.status if endpoint is Endpoint.HEALTHZ else reply.server_id and response.is_success
        if not told:
            raise MonitorError(url.base, http_refusal(response, url.base))
        took_ns = monotonic_ns() - started
        haul.exchanges.append(Exchange(Access.MONITOR, endpoint, str(target), asked_at, took_ns, response.content))
