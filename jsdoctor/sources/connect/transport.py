"""Connections as transports for nats-py, TCP or WebSocket, and its parser with limits that a server cannot exceed.

nats-py's own parser takes a message of any announced length and a line that never ends, needs minutes for some lines,
and stops silently where a field has an unexpected type.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import ParseResult

from nats.aio.transport import TcpTransport, WebSocketTransport
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.greeting import Channel, read_info
from jsdoctor.sources.connect.refusal import ConnectionRefusal, Stage, printable, tcp_refusal
from jsdoctor.sources.connect.server_urls import ServerUrl
from jsdoctor.sources.connect.tls import TlsPlan, tls_refusal

MAX_MESSAGE_BYTES = 64_000_000
"""Largest message. Clients may send no more (nats-server MAX_PAYLOAD_MAX_SIZE), and reports of servers are smaller."""
MAX_HEADER_BYTES = 1_048_576
"""Largest header block. A stored message has at most 64 KiB (nats-server `stream.go`, a 16-bit length)."""
MAX_LINE_BYTES = 1_048_576
"""Longest line of the protocol; an INFO line names every server of a cluster."""
MAX_IDLE_BYTES = 8_388_608
"""Most bytes of lines that carry no message for us, in the life of a connection: a few INFO lines and PINGs."""

_END = b"\r\n"


class BoundedParser(Parser):
    """Takes the place of nats-py's parser. `nc` is the client, whose handlers it calls."""

    def reset(self) -> None:
        """Forget what was read."""
        super().reset()
        self._message: tuple[bytes, int, bytes, int, int] | None = None
        self._searched = 0
        self._idle = 0

    async def parse(self, data: bytes = b"") -> None:
        """Handle what has arrived. Raises ProtocolError, which makes nats-py close the connection."""
        await asyncio.sleep(0)  # a server that floods us must not keep deadlines from being noticed
        self.buf.extend(data)
        try:
            while await (self._take_message() if self._message else self._take_line()):
                pass
        except (ProtocolError, OSError):
            raise
        except Exception as error:
            raise ProtocolError from error

    async def _take_line(self) -> bool:
        """Handle the next line. Returns False if it has not arrived whole."""
        end = self.buf.find(_END, self._searched)
        if max(end, len(self.buf) if end < 0 else 0) > MAX_LINE_BYTES:
            raise ProtocolError
        if end < 0:
            self._searched = max(len(self.buf) - 1, 0)
            return False
        line = bytes(self.buf[:end])
        del self.buf[: end + len(_END)]
        self._searched = 0
        verb, *rest = line.split(None, 1)
        if verb in (b"MSG", b"HMSG"):
            self._begin_message(line, *(rest[0].split() if rest else ()), with_header=verb == b"HMSG")
        else:
            self._count_idle_bytes(line)
            await self._handle_line(verb, rest[0].strip() if rest else b"")
        return True

    def _begin_message(self, line: bytes, *words: bytes, with_header: bool) -> None:
        """Note the message that follows. `words` are `subject sid [reply] [header size] size`."""
        lengths = 2 if with_header else 1
        subject, sid, *reply = words[:-lengths]
        size, header = int(words[-1]), int(words[-2]) if with_header else 0
        if len(reply) > 1 or not 0 <= header <= min(size, MAX_HEADER_BYTES) or size > MAX_MESSAGE_BYTES:
            raise ProtocolError
        self._message = (subject, int(sid), reply[0] if reply else b"", header, size)
        if int(sid) not in self.nc._subs:  # noqa: SLF001 - it has no other name
            self._count_idle_bytes(line)

    def _count_idle_bytes(self, line: bytes) -> None:
        self._idle += len(line) + len(_END)
        if self._idle > MAX_IDLE_BYTES:
            raise ProtocolError

    async def _take_message(self) -> bool:
        """Pass the announced message to the client. Returns False if it has not arrived whole."""
        if not self._message:
            return False
        subject, sid, reply, header, size = self._message
        if len(self.buf) < size + len(_END):
            return False
        head, payload = bytes(self.buf[:header]), bytes(self.buf[header:size])
        del self.buf[: size + len(_END)]
        self._message = None
        await self.nc._process_msg(sid, subject, reply, payload, head or None)  # noqa: SLF001 - as above
        return True

    async def _handle_line(self, verb: bytes, rest: bytes) -> None:
        """Pass a line that is no message to the handler of the client."""
        match verb:
            case b"PING":
                await self.nc._process_ping()  # noqa: SLF001 - as above
            case b"PONG":
                await self.nc._process_pong()  # noqa: SLF001 - as above
            case b"+OK":
                pass
            case b"-ERR":
                await self.nc._process_err(rest.decode(errors="replace").lower())  # noqa: SLF001 - as above
            case b"INFO":
                await self.nc._process_info(read_info(rest))  # noqa: SLF001 - as above
            case _:
                raise ProtocolError


_CLOSE_CHECKS, _CLOSE_CHECK_S = 200, 0.005  # one second in total


class ClosedWebSocketTransport(WebSocketTransport):
    """nats-py's transport, closed to the end.

    aiohttp hands back a TLS connection while its closing handshake is still under way; an event loop that ends then
    leaves the socket open. `wait_closed` waits for the socket as well, for a second at most.
    """

    async def wait_closed(self) -> None:
        """Return when the WebSocket, the HTTP session and the socket are closed."""
        socket = self._ws.get_extra_info("socket") if self._ws else None
        await super().wait_closed()  # type: ignore[no-untyped-call] # nats-py leaves it without annotations
        for _ in range(_CLOSE_CHECKS):
            if not socket or socket.fileno() < 0:
                return
            await asyncio.sleep(_CLOSE_CHECK_S)


def require_websocket(server: ServerUrl, tls: TlsPlan) -> None:
    """Raise UsageProblem without aiohttp, ConnectionRefusal when TLS was demanded of a `ws://` URL, which has none."""
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


_ERROR_LINE = re.compile(rb"-ERR '([^\r\n]{1,4096})'\r\n")


class GreetedTransport(TcpTransport):
    """Passes nats-py the INFO line that was already read; connecting and starting TLS are skipped, as both are done.

    `refusals` keeps the server's -ERR texts as they were written: nats-py passes them on in lower case, which changes
    the subjects in them. Keys are the lower-case texts. A message's payload can add entries here too, so a text counts
    only if nats-py reports it.
    """

    def __init__(self, channel: Channel) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # nats-py leaves it without annotations
        self._io_reader = self._bare_io_reader = channel.reader
        self._io_writer = self._bare_io_writer = channel.writer
        self._channel = channel
        self._head = channel.head
        # CONNECT and PING are sent together, just before their reply is read. A server that has already closed the
        # connection resets it at our first packet; at a second one, asyncio would drop the server's last error, which
        # has the reason.
        self._held: bytearray | None = bytearray()
        self.refusals: dict[str, str] = {}

    @property
    def encrypted(self) -> bool:
        """Whether TLS is on."""
        return self._channel.writer.get_extra_info("ssl_object") is not None

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        """Nothing to do: the connection is open."""

    async def connect_tls(
        self,
        uri: str | ParseResult,  # noqa: ARG002 - the signature is nats-py's
        ssl_context: ssl.SSLContext,  # noqa: ARG002
        buffer_size: int,  # noqa: ARG002
        connect_timeout: int,  # noqa: ARG002
    ) -> None:
        """Nothing to do: TLS is on, or this raises before anything is sent in plain text."""
        if not self.encrypted:
            raise ConnectionAbortedError("TLS is wanted on a connection that was opened without it")

    def write(self, payload: bytes) -> None:
        """Send, or hold until the reply is read."""
        if self._held is None:
            self._channel.writer.write(payload)
        else:
            self._held += payload

    async def drain(self) -> None:
        """Wait until the peer keeps up."""
        if self._held is None:
            await self._channel.writer.drain()

    async def readline(self) -> bytes:
        """One line; an end of the stream is an error here, which nats-py would take for a line."""
        line, newline, rest = self._head.partition(b"\n")
        if newline:
            self._head = rest
            return line + newline
        if self._held:
            self._channel.writer.write(bytes(self._held))
            self._held = None
        line, self._head = self._head, b""
        line += await self._channel.reader.readline()
        if not line:
            raise ConnectionResetError("the server closed the connection")
        return line

    async def read(self, buffer_size: int) -> bytes:
        """Whatever has arrived."""
        data, self._head = self._head, b""
        data = data or await self._channel.reader.read(buffer_size)
        if b"-ERR" in data:
            for value in _ERROR_LINE.findall(data):
                text = value.decode(errors="replace")
                self.refusals[text.lower()] = text
        return data

    def at_eof(self) -> bool:
        """Whether nothing more will come."""
        return not self._head and self._channel.reader.at_eof()

    def abort(self) -> None:
        """Drop the connection at once."""
        self._channel.writer.transport.abort()
