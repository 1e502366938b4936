"""The NATS protocol as a client reads it, with limits: a server that exceeds one loses the connection.

nats-py's own parser takes a message of any announced length and a line that never ends, needs minutes for some lines,
and stops silently where a field has an unexpected type.
"""

from __future__ import annotations

import asyncio

from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from jsdoctor.collect.connect.info import read_info

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
        """Raises ProtocolError, which makes nats-py close the connection."""
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
        """Whether there was a whole line."""
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
            self._announce(line, *(rest[0].split() if rest else ()), with_header=verb == b"HMSG")
        else:
            self._count(line)
            await self._obey(verb, rest[0].strip() if rest else b"")
        return True

    def _announce(self, line: bytes, *words: bytes, with_header: bool) -> None:
        lengths = 2 if with_header else 1
        subject, sid, *reply = words[:-lengths]
        size, header = int(words[-1]), int(words[-2]) if with_header else 0
        if len(reply) > 1 or not 0 <= header <= min(size, MAX_HEADER_BYTES) or size > MAX_MESSAGE_BYTES:
            raise ProtocolError
        self._message = (subject, int(sid), reply[0] if reply else b"", header, size)
        if int(sid) not in self.nc._subs:  # noqa: SLF001 - it has no other name
            self._count(line)

    def _count(self, line: bytes) -> None:
        self._idle += len(line) + len(_END)
        if self._idle > MAX_IDLE_BYTES:
            raise ProtocolError

    async def _take_message(self) -> bool:
        """Whether the announced message was there whole."""
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

    async def _obey(self, verb: bytes, rest: bytes) -> None:
        """What the line of a server means that is no message."""
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
