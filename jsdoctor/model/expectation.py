"""What a publisher expected of a stream, and the stored message that came where its own should have gone."""

from __future__ import annotations

from datetime import datetime

import msgspec


class StoredMessage(msgspec.Struct, frozen=True):
    """One stored message without its payload. `msg_id` empty: it has none. `at`: when its server stored it."""

    stream_seq: int
    subject: str
    msg_id: str = ""
    at: datetime | None = None


class RefusedPublish(msgspec.Struct, frozen=True):
    """A refused publish: the last sequence it expected (None: not known), its message id, and the server's reply.

    `follower` is the stored message that came first, None if it was not requested or does not exist.
    """

    expected_seq: int | None
    msg_id: str = ""
    actual_seq: int | None = None
    follower: StoredMessage | None = None
