"""Finds out what is behind a port that accepts a connection and sends nothing: one TLS hello and one HTTP request.

A NATS server sends INFO first. A server that waits for TLS, a monitoring or WebSocket port and a hung service look the
same until they receive data. No credentials are sent here and no data is trusted, so the TLS certificate is not
verified.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from enum import Enum

from jsdoctor.collect.connect.refusal import ConnectionRefusal, Stage

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
