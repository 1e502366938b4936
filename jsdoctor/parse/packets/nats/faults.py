"""`-ERR` lines of a connection."""

from __future__ import annotations

from jsdoctor.model.nats_traffic import ProtocolError
from jsdoctor.parse.packets.nats.identity import text

_KINDS = 50
_MAX = 200


class ErrorTally:
    """Counts them by text."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[tuple[str, bool], ProtocolError] = {}

    def add(self, at_ns: int, rest: bytes, *, from_server: bool) -> None:
        """One line, what follows `-ERR`."""
        stated = text(rest.strip(b" \t'")[:_MAX])
        known = self._found.get((stated, from_server))
        if known is not None:
            self._found[stated, from_server] = ProtocolError(
                stated, known.count + 1, known.first_ns, at_ns, from_server
            )
        elif len(self._found) < _KINDS:
            self._found[stated, from_server] = ProtocolError(stated, 1, at_ns, at_ns, from_server)

    def errors(self) -> tuple[ProtocolError, ...]:
        """All of them, oldest first."""
        return tuple(sorted(self._found.values(), key=lambda error: (error.first_ns, error.text)))
