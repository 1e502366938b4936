"""What readers of capture files share: blocks come in, and what a block cuts in two waits for the next."""

from __future__ import annotations

from jsdoctor.parse.packets.container import Interface


class BlockReader:
    """Keeps what was not complete, and what a file says of itself. `_read`: where in the file the buffer begins."""

    def __init__(self) -> None:
        self.interfaces: list[Interface] = []
        self.kernel_drops: int | None = None
        self.skipped = self.damaged_times = 0
        self._buffer = b""
        self._carry = b""
        self._read = 0

    def feed(self, block: bytes) -> bytes:
        """Take in the next block of the file; what the offsets of the records refer to."""
        self._buffer = self._carry + block if self._carry else block
        self._carry = b""
        return self._buffer

    def rest(self) -> int:
        """How many bytes were left over at the end of the file."""
        return len(self._carry)
