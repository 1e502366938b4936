"""Faults of servers and accounts that metrics may show, beside the faults of streams and consumers of tests/faults."""

import asyncio
import contextlib

import nats

from tests.prometheus.stack import SCRAPE_S
from tests.support.deployment import add_stream
from tests.support.load import LOGIN, dial, next_line, stalled_reader
from tests.support.site import Site

MAX_CONNECTIONS = 100
CONFIG = f'max_connections: {MAX_CONNECTIONS}\nwrite_deadline: "1s"\nmax_pending: 1MB\n'
"""Of every server: few connections, and little patience with clients that do not read."""

ACCOUNT = "SMALL: { users: [{ user: small, password: small }], jetstream: {max_file: 1MB, max_mem: 1MB} }\n"
"""An account whose storage limit is soon reached."""

_OPEN = 85


async def plant(site: Site, open_: contextlib.ExitStack) -> None:
    """All of them. Connections that stay open are closed with `open_`."""
    await _full_account(site)
    await asyncio.to_thread(_many_connections, site, open_)
    site.background(_slow_readers(site))


async def _full_account(site: Site) -> None:
    """JSD802: 95 percent of the storage of an account."""
    client = await nats.connect(site.cluster.servers("small"))
    try:
        await add_stream(client, "P802", subjects=["p802"])
        for _ in range(9):
            await client.request("p802", b"x" * 105_000, timeout=10)
    finally:
        await client.close()


def _many_connections(site: Site, open_: contextlib.ExitStack) -> None:
    """JSD808: most of the connections that a server may have are open."""
    for _ in range(_OPEN):
        assert next_line(open_.enter_context(dial(site.cluster, LOGIN))) == "PONG"


async def _slow_readers(site: Site) -> None:
    """JSD806: again and again a client that does not read what it is sent is cut off."""
    while not site.stopping:
        with await asyncio.to_thread(stalled_reader, site.cluster, "flood", "sleeper"):
            for _ in range(40):
                await site.client.publish("flood", b"x" * 100_000)
            await site.client.flush(timeout=20)
            await asyncio.sleep(SCRAPE_S / 2)
