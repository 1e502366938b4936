"""NATS inside a WebSocket (`ws://`, `wss://`): nats-py does it with aiohttp, which jsdoctor does not bring along."""

from __future__ import annotations

import asyncio
import ssl
from importlib import import_module
from importlib.util import find_spec

from nats.aio.transport import WebSocketTransport

from jsdoctor.collect.connect.refusal import ConnectionRefusal, Stage, printable, tcp_refusal
from jsdoctor.collect.connect.server_urls import ServerUrl
from jsdoctor.collect.connect.tls import TlsPlan, tls_refusal
from jsdoctor.collect.problems import UsageProblem

_SAMPLES, _SAMPLE_S = 200, 0.005  # a second in sum


class ClosedWebSocketTransport(WebSocketTransport):
    """nats-py's transport, closed to the end.

    aiohttp hands back a TLS connection while its closing handshake is still under way; an event loop that ends then
    leaves the socket open. `wait_closed` waits for the socket as well, for a second at most.
    """

    async def wait_closed(self) -> None:
        """Return when the WebSocket, the HTTP session and the socket are closed."""
        socket = self._ws.get_extra_info("socket") if self._ws else None
        await super().wait_closed()  # type: ignore[no-untyped-call] # nats-py leaves it without annotations
        for _ in range(_SAMPLES):
            if not socket or socket.fileno() < 0:
                return
            await asyncio.sleep(_SAMPLE_S)


def require_websocket(server: ServerUrl, tls: TlsPlan) -> None:
    """Raises UsageProblem without aiohttp, Refusal when TLS was demanded of a `ws://` URL, which has none."""
    if find_spec("aiohttp") is None:
        raise UsageProblem(
            f"{server.url}: NATS over WebSocket needs the package aiohttp, which is not installed",
            "pip install 'jsdoctor[websocket]'; or give the server's nats:// port",
        )
    if tls.required and server.scheme == "ws":
        raise ConnectionRefusal(Stage.TLS, "TLS was demanded, but ws:// has none", "give wss://, or no TLS option")


def websocket_errors(server: ServerUrl) -> tuple[type[Exception], ...]:
    """The exceptions of aiohttp, for a server that is reached through it."""
    if not server.websocket:
        return ()
    return (import_module("aiohttp").ClientError,)


def websocket_refusal(error: Exception, server: ServerUrl, tls: TlsPlan, waited_s: float) -> ConnectionRefusal:
    """What a failure to open the WebSocket means. Knows aiohttp's exceptions by the errors they carry."""
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if status := getattr(error, "status", None):
        return ConnectionRefusal(
            Stage.GREETING,
            f"an HTTP server responds with status {status}, not with a WebSocket",
            "check the port and the path against the server's websocket block",
        )
    if isinstance(inner, TimeoutError):
        return ConnectionRefusal(
            Stage.GREETING, "no WebSocket in time", "check host and port; --timeout 15s waits longer"
        )
    if isinstance(inner, ssl.SSLError):
        return tls_refusal(inner, server, tls)
    if isinstance(inner, OSError):
        return tcp_refusal(inner, server, waited_s)
    return ConnectionRefusal(
        Stage.GREETING, f"no WebSocket: {printable(str(inner))}", "check the port against the server's websocket block"
    )
