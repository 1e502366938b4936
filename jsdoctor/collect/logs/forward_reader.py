"""Text that comes in pieces, read as if it were a file: forward only."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.collect.logs.codec import Unreadable


class ForwardReader:
    """Reads from an iterator of pieces. An `Unreadable` from it ends the text and is kept in `problem`."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self.problem = ""
        self.read_bytes = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, at most `size`, without taking them."""
        self._fill(size)
        return self._rest[:size]

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer than `size` only at the end."""
        if size < 0:
            size = 1 << 62
        self._fill(size)
        taken, self._rest = self._rest[:size], self._rest[size:]
        self.read_bytes += len(taken)
        return taken

    def _fill(self, size: int) -> None:
        if len(self._rest) >= size or self.problem:
            return
        pieces, have = [self._rest], len(self._rest)
        try:
            while have < size:
                piece = next(self._pieces, b"")
                if not piece:
                    break
                pieces.append(piece)
                have += len(piece)
        except (Unreadable, OSError) as error:
            self.problem = str(error)
        self._rest = b"".join(pieces)
