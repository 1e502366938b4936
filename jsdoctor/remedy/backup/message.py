"""One message of a stream, as a backup or a server has it, and its digest."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple


class BackupMessage(NamedTuple):
    """A message: its place in the stream, its date in nanoseconds since 1970, and all of its bytes."""

    stream_seq: int
    date_ns: int
    subject: bytes
    headers: bytes
    payload: bytes

    def digest(self) -> bytes:
        """16 bytes that differ wherever two messages differ."""
        parts = (b"%d %d" % (self.stream_seq, self.date_ns), self.subject, self.headers)
        lengths = b" ".join(b"%d" % len(part) for part in parts)
        return blake2b(b"\0".join((lengths, *parts, self.payload)), digest_size=16).digest()
