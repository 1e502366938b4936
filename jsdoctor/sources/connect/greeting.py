"""Opens one connection up to the server's INFO: TCP, INFO, and TLS at the right moment. No credentials are sent here.

nats-py can do this too, but it reports the same timeout for a port that sends nothing, speaks HTTP or refuses TLS, and
with `tls://` it sends the password in plain text to a server without TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from jsdoctor.model.typed import convert_to
from jsdoctor.sources.connect.refusal import ConnectionRefusal, Stage, printable, tcp_refusal
from jsdoctor.sources.connect.server_urls import ServerUrl
from jsdoctor.sources.connect.tls import TlsPlan, tls_refusal


class _ServerInfo(msgspec.Struct, frozen=True):
    """The fields that nats-py and jsdoctor read (nats-server `server.go` type Info)."""

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    proto: int = 0
    host: str = ""
    port: int = 0
    headers: bool = False
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    tls_verify: bool = False
    max_payload: int = 0
    jetstream: bool = False
    client_id: int = 0
    client_ip: str = ""
    nonce: str = ""
    cluster: str = ""
    domain: str = ""
    ldm: bool = False
    remote_account: str = ""
    acc_is_sys: bool = False
    connect_urls: list[str] | None = None


def read_info(text: bytes | str) -> dict[str, Any]:
    """All fields of an INFO line's JSON. Raises ValueError for anything that no server sends."""
    try:
        info = msgspec.json.decode(text)
        convert_to(info, _ServerInfo)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("no INFO of a server") from error
    fields: dict[str, Any] = info
    return fields


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

    Raises ConnectionRefusal.
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
    """The first line of the server. If it sends none, raises ConnectionRefusal with what was found behind that port."""
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
    """The object of an INFO line. Raises ConnectionRefusal for an -ERR, and for anything else."""
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


# Finds out what is behind a port that accepts a connection and sends nothing: one TLS hello and one HTTP request.
#
# A NATS server sends INFO first. A server that waits for TLS, a monitoring or WebSocket port and a hung service look
# the same until they receive data. No credentials are sent here and no data is trusted, so the TLS certificate is not
# verified.

_HTTP_REQUEST = b"HEAD / HTTP/1.0\r\n\r\n"


class _Behind(Enum):
    NATS_IN_TLS = 1
    TLS = 2
    HTTP = 3
    NOTHING = 4


async def explain_silence(address: str, port: int, *, closed: bool, timeout_s: float) -> ConnectionRefusal:
    """The refusal of a port that sent nothing (or, with `closed`, closed the connection). `address` is an IP."""
    behind = await asyncio.gather(_ask_tls(address, port, timeout_s), _ask_http(address, port, timeout_s))
    if _Behind.NATS_IN_TLS in behind:
        return ConnectionRefusal(
            Stage.GREETING,
            "it wants the TLS handshake before anything else (handshake_first)",
            "add --tlsfirst, and --tlsca FILE if its CA is not a public one",
        )
    if _Behind.HTTP in behind:
        return ConnectionRefusal(
            Stage.GREETING,
            "an HTTP server responds there, not a NATS client port",
            f"a monitoring port goes to --monitor http://HOST:{port}, a WebSocket port to --server ws://HOST:{port};"
            " the client port is 4222 unless configured otherwise",
        )
    if _Behind.TLS in behind:
        return ConnectionRefusal(
            Stage.GREETING,
            "it speaks TLS but does not greet as a NATS server",
            "if it is a NATS server with handshake_first: add --tlsfirst (and --tlscert, --tlskey, --tlsca as needed);"
            " if it is an HTTPS port: the client port is 4222 unless configured otherwise",
        )
    what = "it closed the connection without an error" if closed else "it accepts connections but says nothing"
    return ConnectionRefusal(
        Stage.GREETING,
        f"{what}: no NATS server responds on that port",
        "check the port; a server that hangs or a proxy without a server behind it look like this too",
    )


async def _ask_tls(address: str, port: int, timeout_s: float) -> _Behind:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    behind = _Behind.NOTHING
    with contextlib.suppress(OSError):  # TimeoutError and every ssl.SSLError are OSErrors
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(address, port, ssl=context, ssl_shutdown_timeout=0.1)
            behind = _Behind.TLS
            try:
                if (await reader.read(4)) == b"INFO":
                    behind = _Behind.NATS_IN_TLS
            finally:
                writer.transport.abort()
    return behind


async def _ask_http(address: str, port: int, timeout_s: float) -> _Behind:
    behind = _Behind.NOTHING
    with contextlib.suppress(OSError):
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(address, port)
            try:
                writer.write(_HTTP_REQUEST)
                if (await reader.read(5)) == b"HTTP/":
                    behind = _Behind.HTTP
            finally:
                writer.transport.abort()
    return behind
