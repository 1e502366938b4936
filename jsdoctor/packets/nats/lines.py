"""The NATS protocol line by line, in one direction: clients, routes, leaf nodes and gateways.

Bodies are skipped by their length; only as much of one is kept as the listener requests. After a gap, reading goes on
at the next line with a known verb, at the start of a segment or behind CRLF.
Sources: docs.nats.io client protocol; nats-server parser.go (routes, gateways, leaf nodes).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol, TypeAlias

from jsdoctor.model.nats_traffic import Content

_MAX_LINE_LENGTH = 256 * 1024
"""Maximum length of a line: INFO and CONNECT carry lists of URLs and JWTs."""
_GIVE_UP_BYTES = 256 * 1024
_GIVE_UP_LINES = 4
"""Bytes without a line, and bad lines in a row, after which the content is not NATS."""

_WITH_HEADERS = frozenset((b"HPUB", b"HMSG"))
"""Verbs of messages that name the length of their headers."""
_MIN_WORDS = {b"PUB": 2, b"MSG": 2, b"RMSG": 2, b"LMSG": 2, b"HPUB": 3, b"HMSG": 3}
"""Verbs of messages, and how many words there are at least before the last length."""
_WITHOUT_BODY = frozenset(b"INFO CONNECT SUB UNSUB PING PONG +OK -ERR RS+ RS- LS+ LS- A+ A-".split())
_FIRST_LETTERS = b"IiCcPpSsHhMm+-"
"""First letters of the first lines of clients and servers."""
_LINE = re.compile(
    rb"(?:INFO|CONNECT)[ \t]+\{|(?:PING|PONG|\+OK)[ \t]*\r\n|-ERR[ \t]+'"
    rb"|(?:PUB|MSG|RMSG|LMSG|HPUB|HMSG)[ \t]+[^\r\n]{1,4096}?[ \t]\d+[ \t]*\r\n"
    rb"|(?:SUB|UNSUB|RS\+|RS-|LS\+|LS-|A\+|A-)[ \t]+[^\r\n]{1,4096}\r\n",
    re.IGNORECASE,
)
_TLS_RECORD = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")
_S2_HEADER = re.compile(rb"\xff\x06\x00\x00(?:S2sTwO|sNaPpY)")
_HTTP = re.compile(rb"(?:GET [^\r\n]{0,2048}|HTTP/1\.[01] \d{3}[^\r\n]{0,256})\r\n")
_HTTP_FIRST = (b"GET ", b"HTTP/1.")
_UPGRADE = re.compile(rb"\r\nUpgrade:[ \t]*websocket\r\n", re.IGNORECASE)
_END_OF_LINE = 2
_LINE_BEGINNING = 8192  # bytes at the end in which a line may have begun
_MAX_DIGITS = 9
_FOREIGN_LETTERS = b"\x14\x15\x16\x17\xffGH"
"""How TLS, S2 and HTTP begin."""
_END_OF_HEADERS = b"\r\n\r\n"
_NATS, _UNKNOWN = Content.NATS, Content.UNKNOWN
_READABLE = (Content.UNKNOWN, _NATS)


Usual: TypeAlias = Callable[[int, bytes, int], int]
"""A faster reader for complete messages: `(at_ns, text, at)`, where a line begins at `at`.

Returns where reading continues; that is beyond the text if a body which is not needed ends there.
"""


class LineListener(Protocol):
    """Takes the lines. `at_ns` is when the receiver could read them."""

    def line(self, at_ns: int, verb: bytes, rest: bytes) -> None:
        """A line without a body; the verb in capitals."""

    def message(self, at_ns: int, words: list[bytes], header_length: int, length: int) -> int:
        """A message begins: verb and arguments, lengths apart; `length` is that of headers and payload.

        Returns how many bytes of these to keep.
        """

    def body(self, at_ns: int, content: bytes) -> None:
        """The beginning of the body that `message` requested: shorter where the capture is cut."""

    def missed(self, at_ns: int) -> None:
        """Lines may have been lost here."""


class LineReader:
    """Reads one direction: a sink of `Reassembly`. Only NATS reaches the listener; `content` is what was recognised.

    `readable`: what comes may be NATS. `bad_lines` were not understood, `resyncs` counts how often reading had to find
    its place again. Bytes are read as they come; only incomplete lines are kept. `usual` is tried first.
    """

    __slots__ = (
        *("_bad_in_row", "_buffer", "_fresh", "_left", "_listener", "_searched", "_synced", "_wanted"),
        *("bad_lines", "content", "readable", "resyncs", "usual"),
    )

    def __init__(self, listener: LineListener, *, from_start: bool) -> None:
        self._listener = listener
        self._buffer = bytearray()
        self._left = 0
        self._wanted = 0
        self._synced = self._fresh = from_start
        self._searched = 0
        self._bad_in_row = 0
        self.bad_lines = 0
        self.resyncs = 0
        self.content = Content.UNKNOWN
        self.readable = True
        self.usual: Usual | None = None

    def data(self, at_ns: int, data: memoryview) -> None:
        """The next bytes."""
        if not self.readable:
            return
        kept, at, left = self._buffer, 0, self._left
        if kept:
            text = bytes(kept) + data
            self._forget()
        elif left > _END_OF_LINE and not self._wanted:
            at = left - _END_OF_LINE
            if at >= len(data):
                self._left -= len(data)
                return
            text = data.tobytes()
            if text[at:left] == b"\r\n":
                at, self._left = left, 0
            else:
                self._left = _END_OF_LINE
        else:
            text = data.tobytes()
        if not self._left and self._synced:
            at = self._read_usual(at_ns, text, at)
        size = len(text)
        if at < size and (used := self._read(at_ns, text, at)) < size:
            kept += text[used:]

    def uncaptured(self, at_ns: int, length: int) -> None:
        """`length` bytes were cut off: harmless inside of a body."""
        if not self.readable:
            return
        if self._left:
            self._left -= len(self._buffer) + length
            if self._wanted:
                self._give_body(at_ns, bytes(self._buffer[: self._wanted]))
            self._forget()
            if self._left >= 0:
                return
        self.lose_place(at_ns)

    def gap(self, at_ns: int, length: int) -> None:
        """`length` bytes are missing: their content is unknown unless they lie inside of one body."""
        self.uncaptured(at_ns, length)

    def give_up(self, content: Content) -> None:
        """Set what the content is. If it is not NATS, it is not read any more. The buffer is cleared."""
        self.content = content
        self.readable = content in _READABLE
        self._forget()

    def lose_place(self, at_ns: int) -> None:
        """Note that bytes may be missing here: reading continues at the next text that is certainly a line."""
        if self._buffer:
            if self.content is _UNKNOWN and _HTTP.match(self._buffer) and _UPGRADE.search(self._buffer):
                self.give_up(Content.WEBSOCKET)
                return
            self._forget()
        self._left = self._wanted = self._searched = 0
        if self._synced:
            self.resyncs += 1
        self._synced = self._fresh = False
        self._listener.missed(at_ns)

    def _forget(self) -> None:
        """Clear the buffer. It is overwritten first, as CONNECT carries secrets."""
        self._buffer[:] = bytes(len(self._buffer))
        self._buffer.clear()

    def _read_usual(self, at_ns: int, text: bytes, at: int) -> int:
        """Read with `usual` from the beginning of a line. Returns where `_read` continues."""
        size = len(text)
        if self.usual is None or size > _MAX_LINE_LENGTH:
            return at
        behind = self.usual(at_ns, text, at)
        if behind > at:
            self._understood()
        if behind <= size:
            return behind
        if behind == size + 1:  # the end of its line is looked at whole
            self._left = _END_OF_LINE
            return size - 1
        self._left = behind - size
        return size

    def _read(self, at_ns: int, text: bytes, at: int) -> int:
        """Read all complete lines and bodies from `at` on. Returns how many bytes were used."""
        size = len(text)
        while at < size and self.readable:
            if self._left:
                used = self._read_body(at_ns, text, at)
            elif self._synced:
                end = text.find(b"\r\n", at, at + _MAX_LINE_LENGTH)
                if end < 0:
                    self._gives_up(text, at)
                    break
                words = text[at:end].split()
                if words and words[0] in _MIN_WORDS:
                    at = self._read_message(at_ns, text, end + _END_OF_LINE, words)
                    continue
                used = self._read_line(at_ns, text, at, end)
            else:
                used = self._find_line(text, at)
            if used < 0:
                break
            at += used
        return at if self.readable else size

    def _read_body(self, at_ns: int, text: bytes, at: int) -> int:
        """Skip the body, or as much of it as has come. Returns the bytes used; -1 if more must come first."""
        there, left, wanted = len(text) - at, self._left, self._wanted
        if wanted:
            if there < wanted:
                return -1
            self._give_body(at_ns, text[at : at + wanted])
        if there < left:
            used = min(there, left - _END_OF_LINE)
            if used <= 0:
                return -1
            self._left = left - used
            return used
        self._left = 0
        if left >= _END_OF_LINE and text[at + left - 2 : at + left] != b"\r\n":
            self._bad_line()
        return left

    def _give_body(self, at_ns: int, content: bytes) -> None:
        self._wanted = 0
        self._listener.body(at_ns, content)

    def _read_line(self, at_ns: int, text: bytes, at: int, end: int) -> int:
        """Read a line of another verb, or of a message whose verb is not in capitals. Returns the bytes used."""
        line = text[at:end].strip()
        words = line.split()
        verb = words[0].upper() if words else b""
        if verb in _MIN_WORDS:
            words[0] = verb
            return self._read_message(at_ns, text, end + _END_OF_LINE, words) - at
        if verb in _WITHOUT_BODY:
            self._understood()
            self._listener.line(at_ns, verb, line[len(verb) :].strip())
        elif self._is_unfinished_http(text, at):
            return -1
        elif not self._gives_up(text, at):
            self._bad_line()
        return end + _END_OF_LINE - at

    def _read_message(self, at_ns: int, text: bytes, start: int, words: list[bytes]) -> int:
        """Read a message with its body at `start`. Returns where to read on: behind the message if it is complete."""
        fewest, digits, header_length = _MIN_WORDS[words[0]], words.pop(), 0
        if len(words) < fewest or not digits.isdigit() or len(digits) > _MAX_DIGITS:
            self._bad_line()
            return start
        length = int(digits)
        if words[0] in _WITH_HEADERS:
            digits = words.pop()
            if not digits.isdigit() or len(digits) > _MAX_DIGITS or (header_length := int(digits)) > length:
                self._bad_line()
                return start
        self.content = _NATS
        self._bad_in_row = 0
        wanted = self._listener.message(at_ns, words, header_length, length)
        end = start + length
        if text[end : end + _END_OF_LINE] == b"\r\n":
            if wanted and length:
                self._listener.body(at_ns, text[start : min(end, start + wanted)])
            return end + _END_OF_LINE
        self._left = length + _END_OF_LINE
        if wanted:
            self._wanted = min(wanted, length)
        return start

    def _find_line(self, text: bytes, at: int) -> int:
        """Find the next text that is certainly a line. Returns the bytes to skip; -1 if there is none yet."""
        if self._gives_up(text, at):
            return -1
        line = _line_in(text, at)
        if line < 0:
            spare = len(text) - at - _LINE_BEGINNING
            if spare <= 0:
                return -1
            self._searched += spare
            if self._searched > _GIVE_UP_BYTES and self.content is Content.UNKNOWN:
                self.give_up(Content.OTHER)
            return spare
        self._synced = True
        return line - at

    def _gives_up(self, text: bytes, at: int) -> bool:
        """Give this direction up if the bytes at this position are not NATS. Returns whether it did."""
        content = self._foreign_content(text, at)
        if content is not None:
            self.give_up(content)
        return content is not None

    def _foreign_content(self, text: bytes, at: int) -> Content | None:
        """What the bytes at this position are instead of NATS; None: nothing that is known, or not yet."""
        undecided = self.content is Content.UNKNOWN
        if text[at : at + 1] in _FOREIGN_LETTERS:
            if _TLS_RECORD.match(text, at) and (self._synced or undecided):
                return Content.TLS
            if _S2_HEADER.match(text, at):
                return Content.S2
            if self._is_unfinished_http(text, at):
                return None
            if _HTTP.match(text, at) and undecided:
                end = text.find(_END_OF_HEADERS, at)
                return Content.WEBSOCKET if _UPGRADE.search(text, at, end + _END_OF_LINE) else Content.OTHER
        return Content.OTHER if undecided and self._is_stray(text, at) else None

    def _is_unfinished_http(self, text: bytes, at: int) -> bool:
        """Whether the headers of an HTTP request or response go on in the next segment."""
        if self.content is not _UNKNOWN or len(text) - at > _MAX_LINE_LENGTH:
            return False
        begins = any(first.startswith(text[at : at + len(first)]) for first in _HTTP_FIRST)
        return begins and text.find(_END_OF_HEADERS, at) < 0

    def _is_stray(self, text: bytes, at: int) -> bool:
        """Whether this text cannot be the beginning of a line."""
        begins_wrong = self._fresh and text[at : at + 1] not in _FIRST_LETTERS
        return begins_wrong or len(text) - at > _MAX_LINE_LENGTH

    def _understood(self) -> None:
        self.content = Content.NATS
        self._bad_in_row = 0

    def _bad_line(self) -> None:
        self.bad_lines += 1
        self._bad_in_row += 1
        self._synced = False
        self._searched = 0
        if self.content is Content.UNKNOWN and (self._fresh or self._bad_in_row >= _GIVE_UP_LINES):
            self.give_up(Content.OTHER)


def _line_in(text: bytes, at: int) -> int:
    """Where the first text begins that is certainly a line: at the start or behind CRLF; -1 if there is none."""
    if at == 0 and _LINE.match(text):
        return 0
    place = text.find(b"\r\n", max(at - _END_OF_LINE, 0))
    while place >= 0:
        place += _END_OF_LINE
        if _LINE.match(text, place):
            return place
        place = text.find(b"\r\n", place)
    return -1
