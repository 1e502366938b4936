"""Opens one connection up to the server's INFO: TCP, INFO, and TLS at the right moment. No credentials are sent here.

nats-py can do this too, but it reports the same timeout for a port that sends nothing, speaks HTTP or refuses TLS, and
with `tls://` it sends the password in plain text to a server without TLS.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from typing import Any

from jsdoctor.collect.connect.addresses import open_socket
from jsdoctor.collect.connect.info import read_info
from jsdoctor.collect.connect.refusal import ConnectionRefusal, Stage, printable, tcp_refusal
from jsdoctor.collect.connect.server_urls import ServerUrl
from jsdoctor.collect.connect.silence import explain_silence
from jsdoctor.collect.connect.tls import TlsPlan, tls_refusal

_LINE_LIMIT = 1 << 20  # bytes; an INFO line names every server of a cluster
_GREETING_SHARE = 0.7  # of the time that is left; the rest is for finding out why there is none
_ASKING_S = 2.0
_TLS_SHUTDOWN_S = 0.5
_NOT_NATS = "check the port: the client port of a NATS server is 4222 unless configured otherwise"


@dataclass(frozen=True, slots=True)
class Channel:
    """An open connection to a server that has sent INFO. `head`: the bytes read so far, the INFO line included."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    info: dict[str, Any] = field(repr=False)
    head: bytes = field(repr=False)


async def greet(server: ServerUrl, tls: TlsPlan, deadline: float) -> Channel:
    """Connect and wait for INFO, with TLS if the server or the plan requires it. `deadline` is in loop time.

    Raises Refusal.
    """
    budget_s = deadline - asyncio.get_running_loop().time()
    try:
        sock = await open_socket(server.host, server.port, budget_s)
    except OSError as error:
        raise tcp_refusal(error, server, budget_s) from None
    try:
        if tls.first:
            return await _tls_then_info(sock, server, tls, deadline)
        return await _info_then_tls(sock, server, tls, deadline)
    except BaseException:
        sock.close()
        raise


async def _info_then_tls(sock: socket.socket, server: ServerUrl, tls: TlsPlan, deadline: float) -> Channel:
    receive = await _receive(sock, server, deadline)
    line, _, rest = receive.partition(b"\n")
    info = _parse_info(line)
    if tls.required and not (info.get("tls_required") or info.get("tls_available")):
        raise ConnectionRefusal(
            Stage.TLS,
            "TLS was demanded, but the server has none",
            "if plain text is really meant: give nats:// and no TLS option; else add a tls block to the server",
        )
    if not (tls.required or info.get("tls_required")):
        reader, writer = await asyncio.open_connection(sock=sock, limit=_LINE_LIMIT)
        return Channel(reader, writer, info, receive)
    if rest:
        # Plain text after INFO is either an error of the server or injected by a third party: never part of the
        # session.
        raise _last_words(rest)
    reader, writer = await _start_tls(sock, server, tls, deadline)
    return Channel(reader, writer, info, receive)


async def _tls_then_info(sock: socket.socket, server: ServerUrl, tls: TlsPlan, deadline: float) -> Channel:
    reader, writer = await _start_tls(sock, server, tls, deadline)
    try:
        async with asyncio.timeout_at(deadline):
            line = await reader.readline()
        return Channel(reader, writer, _parse_info(line), line)
    except BaseException as error:
        writer.transport.abort()
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            raise tls_refusal(error, server, tls) from None
        if isinstance(error, TimeoutError | ValueError):  # ValueError: a line beyond the limit
            raise ConnectionRefusal(
                Stage.GREETING, "it speaks TLS but does not greet as a NATS server", _NOT_NATS
            ) from None
        raise


async def _receive(sock: socket.socket, server: ServerUrl, deadline: float) -> bytes:
    """The first line of the server. If it sends nothing, raises Refusal with what was found behind that port."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    address, silent = server.host, False
    try:
        address = sock.getpeername()[0]
        async with asyncio.timeout_at(now + (deadline - now) * _GREETING_SHARE):
            if line := await _first_line(sock):
                return line
    except TimeoutError:
        silent = True
    except OSError:
        pass  # a reset: it hung up as well
    sock.close()
    left_s = min(max(deadline - loop.time(), 0), _ASKING_S)
    raise await explain_silence(address, server.port, closed=not silent, timeout_s=left_s)


async def _start_tls(
    sock: socket.socket, server: ServerUrl, tls: TlsPlan, deadline: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout_at(deadline):
            return await asyncio.open_connection(
                sock=sock,
                ssl=tls.context,
                server_hostname=server.host,
                ssl_shutdown_timeout=_TLS_SHUTDOWN_S,
                limit=_LINE_LIMIT,
            )
    except OSError as error:
        raise tls_refusal(error, server, tls) from None


async def _first_line(sock: socket.socket) -> bytes:
    """The first bytes of the server, up to a line end at least; empty if it closes the connection."""
    loop = asyncio.get_running_loop()
    line = b""
    while b"\n" not in line:
        piece = await loop.sock_recv(sock, 65536)
        if not piece:
            return line and line + b"\n"
        line += piece
        if len(line) > _LINE_LIMIT or not line.startswith(b"INFO"[: len(line)]):
            return line + b"\n"
    return line


def _parse_info(line: bytes) -> dict[str, Any]:
    """The object of an INFO line. Raises Refusal when it is no such line."""
    keyword, _, payload = line.strip().partition(b" ")
    if keyword == b"-ERR":
        raise _last_words(line)
    try:
        return read_info(payload if keyword == b"INFO" else b"")
    except ValueError:
        stated = f"not a NATS server: it greets with {printable(line)!r}"
        raise ConnectionRefusal(Stage.GREETING, stated, _NOT_NATS) from None


def _last_words(stated: bytes) -> ConnectionRefusal:
    return ConnectionRefusal(
        Stage.LOGIN, f"it refuses: {printable(stated.removeprefix(b'-ERR').strip())}", "ask who runs the server"
    )
