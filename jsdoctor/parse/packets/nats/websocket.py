"""NATS inside WebSocket frames (RFC 6455) of one direction: unmasked, put together, and decompressed within limits.

nats-server and its clients use binary frames and, where both agree, permessage-deflate without context takeover
(RFC 7692): each message is a deflate stream of its own. Source: nats-server websocket.go.
"""

from __future__ import annotations

import zlib
from typing import Final, Protocol

from jsdoctor.parse.packets.nats.frames import CONTINUATION, CONTROL, FrameHeader, begins_frame, header_size, unmasked

MAX_INFLATED: Final = 64 * 1024 * 1024
"""One compressed message may become so large (the largest max_payload of a server); the rest of it is not read."""

_PIECE = 256 * 1024
_TAIL = b"\x00\x00\xff\xff"
"""What a sender leaves out at the end of each compressed message."""


class FramedLines(Protocol):
    """Who reads the lines that frames carry."""

    @property
    def readable(self) -> bool:
        """Whether what comes may be NATS."""

    def data(self, at_ns: int, data: memoryview) -> None:
        """The next bytes."""

    def uncaptured(self, at_ns: int, length: int) -> None:
        """`length` bytes were cut off."""

    def lose_place(self, at_ns: int) -> None:
        """Anything may be missing here."""


class FrameReader:
    """Reads frames and passes on what they carry: a sink of `reassembly` in front of the reader of lines.

    After a gap it goes on where a segment begins with a frame that holds NATS beyond doubt.
    """

    __slots__ = (
        *("_compressed", "_data", "_final", "_inflate", "_inflated", "_kept", "_left", "_lines", "_mask", "_masked"),
        *("_skipping", "_synced"),
    )

    def __init__(self, lines: FramedLines, *, synced: bool) -> None:
        self._lines = lines
        self._synced = synced
        self._kept = b""
        self._mask = b""
        self._masked = self._left = self._inflated = 0
        self._final = self._data = self._compressed = self._skipping = False
        self._inflate: zlib._Decompress | None = None

    @property
    def readable(self) -> bool:
        """Whether what comes may be NATS."""
        return self._lines.readable

    def data(self, at_ns: int, data: memoryview) -> None:
        """The next bytes."""
        if not self.readable:
            return
        text = self._kept + data
        self._kept = b""
        if not self._synced:
            if not begins_frame(text):
                return
            self._synced = True
        at = 0
        while at < len(text) and self._synced:
            if self._left:
                part = text[at : at + self._left]
                at += len(part)
                self._payload(at_ns, part)
                continue
            size = header_size(text, at)
            if len(text) < at + size:
                self._kept = text[at:]
                return
            at += size
            self._begin(at_ns, text, at - size)

    def uncaptured(self, at_ns: int, length: int) -> None:
        """`length` bytes were cut off: harmless inside of one frame that is not compressed."""
        if not self.readable or not self._synced:
            return
        if length > self._left or self._kept:
            self._lose_place(at_ns)
            return
        self._left -= length
        self._masked += length
        if self._data and not self._compressed:
            self._lines.uncaptured(at_ns, length)
        elif self._data:
            self._skip_message(at_ns)
        if not self._left:
            self._end(at_ns)

    def gap(self, at_ns: int, length: int) -> None:
        """`length` bytes are missing."""
        self.uncaptured(at_ns, length)

    def _lose_place(self, at_ns: int) -> None:
        self._kept, self._left, self._synced = b"", 0, False
        self._inflate = None
        self._lines.lose_place(at_ns)

    def _begin(self, at_ns: int, text: bytes, at: int) -> None:
        """A frame. Control frames may stand between the frames of a message (RFC 6455, section 5.4)."""
        try:
            header = FrameHeader(text, at)
        except ValueError:
            self._lose_place(at_ns)
            return
        self._left, self._mask, self._masked = header.length, header.mask, 0
        self._data, self._final = header.opcode < CONTROL, header.final
        if self._data and header.opcode != CONTINUATION:
            self._compressed, self._skipping, self._inflated = header.compressed, False, 0
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS) if header.compressed else None
        if not self._left:
            self._end(at_ns)

    def _payload(self, at_ns: int, part: bytes) -> None:
        self._left -= len(part)
        if self._data and not self._skipping:
            plain = unmasked(part, self._mask, self._masked)
            if self._compressed:
                self._decompress(at_ns, plain)
            else:
                self._lines.data(at_ns, memoryview(plain))
        self._masked += len(part)
        if not self._left:
            self._end(at_ns)

    def _end(self, at_ns: int) -> None:
        """The end of a frame, which may be that of a message."""
        if self._data and self._final and self._compressed and not self._skipping:
            self._decompress(at_ns, _TAIL)

    def _decompress(self, at_ns: int, data: bytes) -> None:
        """Piece by piece, so that a small frame cannot take much memory."""
        inflate = self._inflate
        if inflate is None:  # its message began before the capture
            self._skip_message(at_ns)
            return
        while data and not self._skipping:
            try:
                plain = inflate.decompress(data, _PIECE)
            except zlib.error:
                self._skip_message(at_ns)
                return
            data = inflate.unconsumed_tail
            self._inflated += len(plain)
            if self._inflated > MAX_INFLATED:
                self._skip_message(at_ns)
                return
            if plain:
                self._lines.data(at_ns, memoryview(plain))
            elif not data or inflate.eof:
                return

    def _skip_message(self, at_ns: int) -> None:
        """The rest of this message cannot be read."""
        if not self._skipping:
            self._skipping = True
            self._lines.lose_place(at_ns)
