"""Tries the addresses that a server gives to its clients: opens a connection, and waits for the server's INFO."""

from __future__ import annotations

import asyncio
import contextlib
import os
from datetime import UTC, datetime

import msgspec

from jsdoctor.model.client_addresses import ClientAddresses, TriedAddress
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.connect.greeting import read_info

_PATIENCE_S = 2.0
_MAX_ADDRESSES = 200


async def try_addresses(connection: Connection) -> Exchange:
    """Try all addresses of the connected server's INFO at once: two seconds for each, and no login is sent.

    Behind TLS an open port is all that is tried: servers may send INFO after the handshake.
    """
    info, asked_at = connection.server_info, datetime.now(UTC)
    plain = info.get("connect_urls")
    given = plain or info.get("ws_connect_urls")
    addresses = {address for address in given if isinstance(address, str)} if isinstance(given, list) else set()
    info_first = not connection.encrypted and bool(plain)
    tried = await asyncio.gather(*(_try(address, info_first) for address in sorted(addresses)[:_MAX_ADDRESSES]))
    result = ClientAddresses(connection.url, str(info.get("cluster") or ""), asked_at, tuple(tried))
    body = msgspec.json.encode(result)
    return Exchange(Access.CLIENT, Endpoint.CLIENT_ADDRESSES, connection.url, asked_at, 0, body)


async def _try(address: str, info_first: bool) -> TriedAddress:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except TimeoutError:
        return TriedAddress(address, error=f"no connection within {_PATIENCE_S:.0f} s")
    except OSError as error:
        return TriedAddress(address, error=os.strerror(error.errno) if error.errno else str(error))
    except (ValueError, OverflowError):  # a port beyond 65535 overflows
        return TriedAddress(address, error="it is no address")
    try:
        return await _read_greeting(address, reader) if info_first else TriedAddress(address)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _read_greeting(address: str, reader: asyncio.StreamReader) -> TriedAddress:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            line = await reader.readuntil(b"\n")
        info = read_info(line.removeprefix(b"INFO "))
    except TimeoutError:
        return TriedAddress(address, error=f"connected, and no INFO within {_PATIENCE_S:.0f} s")
    except (OSError, EOFError, asyncio.LimitOverrunError, ValueError):
        return TriedAddress(address, error="connected, and what responds is no NATS server")
    return TriedAddress(address, str(info.get("server_name") or ""), str(info.get("cluster") or ""))
