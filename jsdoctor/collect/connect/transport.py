"""A connection that is already open and has received INFO, as a transport for nats-py."""

from __future__ import annotations

import re
import ssl
from urllib.parse import ParseResult

from nats.aio.transport import TcpTransport

from jsdoctor.collect.connect.greeting import Channel

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
