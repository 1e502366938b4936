"""The most that one line or message of a server may hold: what is longer ends the connection, not our memory."""

from __future__ import annotations

from nats.errors import ProtocolError
from nats.protocol.parser import AWAITING_CONTROL_LINE, Parser

MOST_MESSAGE_BYTES = 64_000_000
"""Largest message. Clients may send no more (nats-server MAX_PAYLOAD_MAX_SIZE), and reports of servers are smaller."""
MOST_LINE_BYTES = 1_048_576
"""Longest line of the protocol; an INFO line names every server of a cluster."""


class BoundedParser(Parser):
    """nats-py's parser, which takes a message of any announced length and a line that never ends."""

    async def parse(self, data: bytes = b"") -> None:
        """Raises ProtocolError, which makes nats-py close the connection."""
        await super().parse(data)
        if self.needed > MOST_MESSAGE_BYTES:
            raise ProtocolError("message too large")
        if self.state == AWAITING_CONTROL_LINE and len(self.buf) > MOST_LINE_BYTES:
            raise ProtocolError("line too long")
