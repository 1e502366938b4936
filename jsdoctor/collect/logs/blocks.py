"""From pieces of text to blocks of whole lines, in bounded memory whatever the length of a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from jsdoctor.parse.logs.scan.part import BLOCK

LINE_KEPT = 64 * 1024
"""Bytes kept of a line that does not fit into a block; the scan reads fewer."""


@cache
def _reuse_memory() -> None:
    """Let the memory of a block serve the next one, where the allocator is glibc's.

    That returns large pieces to the kernel when they are freed, and to get them back page by page takes a quarter of
    the time of a scan. It stops for pieces up to the largest one that was ever freed, and holds twice as much; this one
    is never touched and takes no memory.
    """
    bytes(2 * BLOCK)


class Blocks:
    """Blocks of whole lines that start below `end`. Afterwards, `torn` is True if the last line had no end."""

    def __init__(self, read: Callable[[int], bytes], start: int, end: int | None, block: int = BLOCK) -> None:
        self._read, self._end, self._size = read, end, block
        self._base = start
        self._rest = b""
        self.torn = False
        _reuse_memory()

    def skip_line(self) -> bytes:
        """Leave out the rest of a line that began earlier; the bytes left out (their tail, when it is long)."""
        left_out = b""
        while True:
            text = self._read(LINE_KEPT)
            newline = text.find(b"\n")
            if newline >= 0 or not text:
                kept = text[: newline + 1] if newline >= 0 else text
                self._rest = text[len(kept) :]
                self._base += len(kept)
                return (left_out + kept)[-LINE_KEPT:]
            self._base += len(text)
            left_out = text

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        while self._end is None or self._base < self._end:
            fresh = self._read(self._wanted())
            newline = fresh.rfind(b"\n")
            if newline >= 0 and (self._end is None or self._base + len(self._rest) + len(fresh) <= self._end):
                block = b"".join((self._rest, memoryview(fresh)[: newline + 1]))  # this way it is copied only once
                self._rest = fresh[newline + 1 :]
                del fresh  # nothing is held that the next one could have the memory of
                base, self._base = self._base, self._base + len(block)
                yield block, base
                del block
                continue
            text = self._rest + fresh
            ended = not fresh
            cut = self._cut(text)
            if ended and not cut:
                yield from self._last(text)
                return
            if cut:
                yield text[:cut], self._base
                self._base += cut
                self._rest = text[cut:]
            elif len(text) > LINE_KEPT and (len(text) >= self._size or self._is_past(text)):
                yield text[:LINE_KEPT] + b"\n", self._base
                self._base += len(text)
                self._rest = b""
                self.skip_line()
            else:
                self._rest = text

    def _wanted(self) -> int:
        """To the end of the part, then just so much more that the line that crosses it is complete."""
        if self._end is None:
            return self._size
        missing = self._end - self._base - len(self._rest)
        return min(self._size, missing) if missing > 0 else LINE_KEPT

    def _is_past(self, text: bytes) -> bool:
        return self._end is not None and self._base + len(text) >= self._end

    def _cut(self, text: bytes) -> int:
        """Where the last whole line that starts in the part ends, or 0 when there is none yet."""
        if self._end is None or self._base + len(text) <= self._end:
            return text.rfind(b"\n") + 1
        last = self._end - self._base
        return text.find(b"\n", last - 1) + 1 or text.rfind(b"\n", 0, last) + 1

    def _last(self, text: bytes) -> Iterator[tuple[bytes, int]]:
        if text:
            self.torn = not text.endswith(b"\n")
            yield text, self._base
            self._base += len(text)
