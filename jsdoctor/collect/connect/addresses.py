"""Name lookup and TCP connect with a time limit: a resolver that hangs must not delay jsdoctor or its exit."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import Any

_Addresses = Sequence[tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]]


async def open_socket(host: str, port: int, timeout_s: float) -> socket.socket:
    """A connected, non-blocking socket to the first address of the host that accepts a connection.

    Raises OSError (`socket.gaierror` for the name, else that of the last address; TimeoutError is one).
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    try:
        async with asyncio.timeout_at(deadline):
            addresses = await _resolve(host, port)
    except TimeoutError:
        raise socket.gaierror(socket.EAI_AGAIN, "no response in time") from None
    last: OSError = OSError(f"{host} has no address")
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        # An address that swallows packets (IPv6 without a route) must leave time for those after it.
        share = (deadline - loop.time()) / (len(addresses) - tried)
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            async with asyncio.timeout(share):
                await loop.sock_connect(sock, address)
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError):  # TimeoutError is one
                raise
            last = error
        else:
            return sock
    raise last


async def _resolve(host: str, port: int) -> _Addresses:
    """All addresses of a host. In a daemon thread: those of asyncio's executor are waited for when the loop ends.

    An address needs no name server, and no thread that a busy machine would let wait.
    """
    with contextlib.suppress(OSError, UnicodeError):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Addresses] = loop.create_future()

    def settle(result: _Addresses | OSError) -> None:
        if answer.done():
            return
        if isinstance(result, OSError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    def resolve() -> None:
        result: _Addresses | OSError
        try:
            result = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            result = error
        except UnicodeError:  # a label too long or empty for IDNA
            result = socket.gaierror(socket.EAI_NONAME, "not a host name")
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=resolve, name=f"look up {host}", daemon=True).start()
    return await answer
