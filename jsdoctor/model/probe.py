"""What a probe of a subject found out: which stream would store a message, and whether it would be refused."""

from __future__ import annotations

import msgspec


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A dry run of one publish.

    `refused`: why nothing was sent, with `how_to_get`. Else `stream` would take the message (empty: none captures the
    subject), and `error` is why it would be refused, in the server's words (empty: it would be stored). `servers` are
    the names and versions of all servers that were looked at beforehand.
    """

    subject: str
    servers: tuple[tuple[str, str], ...] = ()
    stream: str = ""
    error: str = ""
    refused: str = ""
    how_to_get: str = ""

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.refused:
            return f"not probed: {self.refused}"
        if not self.stream:
            return f"no stream captures {self.subject}: a publish there gets no acknowledgement (no responders)"
        if self.error:
            return f"stream {self.stream} would refuse it: {self.error}"
        return f"stream {self.stream} would store it; that a stream is full or an account at its limit does not show"
