"""The NATS protocol line by line, in one direction: clients, routes, leaf nodes and gateways.

Bodies are skipped by their length; only as much of one is kept as the listener asks for. After a gap, reading goes on
at the next line with a known verb, at the start of a segment or behind CRLF.
Sources: docs.nats.io client protocol; nats-server parser.go (routes, gateways, leaf nodes).
"""

from __future__ import annotations

import re
from typing import Protocol

from jsdoctor.model.nats_traffic import Content

_LONGEST_LINE = 256 * 1024
"""INFO and CONNECT carry lists of URLs and JWTs; what is longer is no line."""
_GIVE_UP_BYTES = 256 * 1024
_GIVE_UP_LINES = 4
"""So much without a line, or so many bad ones in a row, and it is not NATS."""

_WITH_BODY = {b"PUB": 0, b"MSG": 0, b"RMSG": 0, b"LMSG": 0, b"HPUB": 1, b"HMSG": 1}
"""Verbs of messages, and whether they name the length of their headers."""
_WITHOUT_BODY = frozenset(b"INFO CONNECT SUB UNSUB PING PONG +OK -ERR RS+ RS- LS+ LS- A+ A-".split())
_FIRST_LETTERS = b"IiCcPpSsHhMm+-"
"""Of what clients and servers say first."""
_LINE = re.compile(
    rb"(?:(?<=\r\n)|\A)(?:"
    rb"(?:INFO|CONNECT)[ \t]+\{|(?:PING|PONG|\+OK)[ \t]*\r\n|-ERR[ \t]+'"
    rb"|(?:PUB|MSG|RMSG|LMSG|HPUB|HMSG)[ \t]+[^\r\n]{1,4096}?[ \t]\d+[ \t]*\r\n"
    rb"|(?:SUB|UNSUB|RS\+|RS-|LS\+|LS-|A\+|A-)[ \t]+[^\r\n]{1,4096}\r\n)",
    re.IGNORECASE,
)
_TLS_RECORD = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")
_S2_HEADER = re.compile(rb"\xff\x06\x00\x00(?:S2sTwO|sNaPpY)")
_HTTP = re.compile(rb"(?:GET [^\r\n]{0,2048}|HTTP/1\.[01] \d{3}[^\r\n]{0,256})\r\n")
_UPGRADE = re.compile(rb"\r\nUpgrade:[ \t]*websocket\r\n", re.IGNORECASE)
_END_OF_LINE = 2


class Listener(Protocol):
    """Who understands the lines. `at_ns` is when the receiver could read them."""

    def line(self, at_ns: int, verb: bytes, rest: bytes) -> None:
        """A line without a body; the verb in capitals."""

    def message(self, at_ns: int, verb: bytes, arguments: list[bytes], header_length: int, length: int) -> int:
        """A message begins; `length` is that of headers and payload. Returns how many bytes of these to keep."""

    def body(self, at_ns: int, content: bytes) -> None:
        """The beginning of the body that was asked for: shorter where the capture is cut."""

    def missed(self, at_ns: int) -> None:
        """Lines may have been lost here."""


class LineReader:
    """Reads one direction: a sink of `reassembly`. `content` says what it is; only NATS reaches the listener.

    `bad_lines` were not understood, `resyncs` counts how often reading had to find its place again.
    """

    __slots__ = (
        *("_bad_row", "_buffer", "_fresh", "_left", "_listener", "_searched", "_synced", "_wanted"),
        *("bad_lines", "content", "resyncs"),
    )

    def __init__(self, listener: Listener, *, from_start: bool) -> None:
        self._listener = listener
        self._buffer = bytearray()
        self._left = 0
        self._wanted = 0
        self._synced = self._fresh = from_start
        self._searched = 0
        self._bad_row = 0
        self.bad_lines = 0
        self.resyncs = 0
        self.content = Content.UNKNOWN

    @property
    def readable(self) -> bool:
        """Whether what comes may be NATS."""
        return self.content in (Content.UNKNOWN, Content.NATS)

    def data(self, at_ns: int, data: memoryview) -> None:
        """The next bytes."""
        if not self.readable:
            return
        if not self._buffer and self._left > _END_OF_LINE and not self._wanted:
            skipped = min(len(data), self._left - _END_OF_LINE)
            self._left -= skipped
            data = data[skipped:]
        self._buffer += data
        used = self._read(at_ns)
        self._forget(used)

    def uncaptured(self, at_ns: int, length: int) -> None:
        """So many bytes were cut off: harmless inside of a body."""
        if not self.readable:
            return
        if self._left:
            self._give_body(at_ns, 0, len(self._buffer))
            self._left -= len(self._buffer) + length
            self._forget(len(self._buffer))
            if self._left >= 0:
                return
        self._lose_place(at_ns)

    def gap(self, at_ns: int, length: int) -> None:
        """So many bytes are missing: what they were is unknown unless they lie inside of one body."""
        self.uncaptured(at_ns, length)

    def give_up(self, content: Content) -> None:
        """It is not to be read; nothing of it is kept."""
        self.content = content
        self._forget(len(self._buffer))

    def _lose_place(self, at_ns: int) -> None:
        self._forget(len(self._buffer))
        self._left = self._wanted = 0
        if self._synced:
            self.resyncs += 1
        self._synced = self._fresh = False
        self._searched = 0
        self._listener.missed(at_ns)

    def _forget(self, length: int) -> None:
        """Overwritten first: CONNECT carries secrets."""
        if length:
            self._buffer[:length] = bytes(length)
            del self._buffer[:length]

    def _read(self, at_ns: int) -> int:
        """Everything that is whole. Returns how many bytes of the buffer are done with."""
        at = 0
        while self.readable:
            if self._left:
                used = self._read_body(at_ns, at)
            elif self._synced:
                used = self._read_line(at_ns, at)
            else:
                used = self._find_line(at)
            if used < 0:
                break
            at += used
        return at if self.readable else len(self._buffer)

    def _read_body(self, at_ns: int, at: int) -> int:
        """Past the body, or as much of it as is there; -1 when more must come first."""
        there = len(self._buffer) - at
        if self._wanted and there < self._wanted:
            return -1
        self._give_body(at_ns, at, at + self._wanted)
        if there < self._left:
            used = max(0, min(there, self._left - _END_OF_LINE))
            self._left -= used
            return used or -1
        used, self._left = self._left, 0
        if used >= _END_OF_LINE and self._buffer[at + used - 2 : at + used] != b"\r\n":
            self._bad_line()
        return used

    def _give_body(self, at_ns: int, start: int, end: int) -> None:
        if self._wanted:
            end = min(end, start + self._wanted)
            self._wanted = 0
            self._listener.body(at_ns, bytes(self._buffer[start:end]))

    def _read_line(self, at_ns: int, at: int) -> int:
        end = self._buffer.find(b"\r\n", at, at + _LONGEST_LINE)
        if end < 0:
            self._judge_beginning(at)
            return -1
        line = bytes(self._buffer[at:end])
        words = line.split()
        given = verb = words.pop(0) if words else b""
        if verb not in _WITH_BODY:
            verb = verb.upper()
        if verb in _WITH_BODY:
            if not self._begin_message(at_ns, verb, words):
                self._bad_line()
        elif verb in _WITHOUT_BODY:
            self._understood()
            self._listener.line(at_ns, verb, line.strip()[len(given) :].strip())
        elif not self._judge_beginning(at):
            self._bad_line()
        return end + _END_OF_LINE - at

    def _begin_message(self, at_ns: int, verb: bytes, arguments: list[bytes]) -> bool:
        with_headers = _WITH_BODY[verb]
        if len(arguments) < 2 + with_headers or not arguments[-1].isdigit() or len(arguments[-1]) > 9:
            return False
        length, header_length = int(arguments.pop()), 0
        if with_headers:
            if not arguments[-1].isdigit():
                return False
            header_length = int(arguments.pop())
            if header_length > length:
                return False
        self._understood()
        self._left = length + _END_OF_LINE
        self._wanted = min(self._listener.message(at_ns, verb, arguments, header_length, length), length)
        return True

    def _find_line(self, at: int) -> int:
        """To the next line that is one beyond doubt; -1 when there is none yet."""
        if self._judge_beginning(at):
            return -1
        found = _LINE.search(self._buffer, at)
        if found is None:
            spare = len(self._buffer) - at - 8192
            self._searched += max(0, spare)
            if self._searched > _GIVE_UP_BYTES and self.content is Content.UNKNOWN:
                self.give_up(Content.OTHER)
            return spare if spare > 0 else -1
        self._synced = True
        return found.start() - at

    def _judge_beginning(self, at: int) -> bool:
        """Whether what stands here tells that it is not to be read as NATS."""
        content = None
        if _TLS_RECORD.match(self._buffer, at) and (self._synced or self.content is Content.UNKNOWN):
            content = Content.TLS
        elif _S2_HEADER.match(self._buffer, at):
            content = Content.S2
        elif _HTTP.match(self._buffer, at) and self.content is Content.UNKNOWN:
            upgraded = _UPGRADE.search(self._buffer, at) is not None
            if not upgraded and b"\r\n\r\n" not in self._buffer:
                return False
            content = Content.WEBSOCKET if upgraded else Content.OTHER
        elif self.content is Content.UNKNOWN and self._is_stray(at):
            content = Content.OTHER
        if content is not None:
            self.give_up(content)
        return content is not None

    def _is_stray(self, at: int) -> bool:
        """Whether no line can come of this."""
        begins_wrong = self._fresh and self._buffer[at : at + 1] not in _FIRST_LETTERS
        return begins_wrong or len(self._buffer) - at > _LONGEST_LINE

    def _understood(self) -> None:
        self.content = Content.NATS
        self._bad_row = 0

    def _bad_line(self) -> None:
        self.bad_lines += 1
        self._bad_row += 1
        self._synced = False
        self._searched = 0
        if self.content is Content.UNKNOWN and (self._fresh or self._bad_row >= _GIVE_UP_LINES):
            self.give_up(Content.OTHER)
