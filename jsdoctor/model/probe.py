"""The result of a probe of a subject: which stream would store a message, and whether it would be refused."""

from __future__ import annotations

import msgspec


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A dry run of one publish.

    `refused` is the reason why nothing was sent, with `how_to_get`. Otherwise `stream` would store the message (empty:
    no stream captures the subject), and `error` is the server's error text if it would refuse it (empty: it would be
    stored). `servers` are the names and versions of all servers that were queried beforehand.
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
