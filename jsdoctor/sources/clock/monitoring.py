"""Reading servers' clocks over HTTP: /varz has the time, and the name of the server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from datetime import UTC, datetime
from time import monotonic_ns

import httpx2

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.sources.clock.servers import repeated
from jsdoctor.sources.servers.collection_result import CollectionResult
from jsdoctor.sources.servers.monitor_body import Budget, get
from jsdoctor.sources.servers.monitor_url import MonitorUrl, mounts_for


async def monitored_clocks(
    urls: Iterable[MonitorUrl], tls: ssl.SSLContext | None, timeout_s: float, collection: CollectionResult
) -> None:
    """Add the clock of each server with one of these monitoring ports to the collection."""
    urls = list(dict.fromkeys(urls))
    secure = any(url.base.startswith("https://") for url in urls)
    verify = (tls or ssl.create_default_context()) if secure else False
    async with httpx2.AsyncClient(verify=verify, timeout=timeout_s, mounts=mounts_for(urls)) as client:
        await asyncio.gather(*(_measure(client, url, timeout_s, collection) for url in urls))


async def _measure(client: httpx2.AsyncClient, url: MonitorUrl, timeout_s: float, collection: CollectionResult) -> None:
    target, budget = url.base + "/varz", Budget()

    async def ask() -> bool:
        started, asked_at = monotonic_ns(), datetime.now(UTC)
        try:
            response = await get(client, target, url, budget, timeout_s)
        except (httpx2.HTTPError, OSError):
            return False  # a gap already: the samples ask the same
        if not response.is_success:
            return False
        took_ns = monotonic_ns() - started
        collection.exchanges.append(
            Exchange(Access.MONITOR, Endpoint.CLOCK, target, asked_at, took_ns, response.content)
        )
        return True

    await repeated(ask)
