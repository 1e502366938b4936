"""A stream that is to be read: its state on the leader, and the messages to read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.live.ask import Asker, TimedReply
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.reported import Instant
from jsdoctor.parse.replies import ApiRefusedError, ErrorReply, decode

_CONSUMER = "limits"
_MAX_SEQ = (1 << 63) - 1


class UnreadableError(Exception):
    """The messages of a stream, or the rest of them, cannot be read: the reason, and what to do."""

    def __init__(self, reason: str, how_to_get: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.how_to_get = how_to_get


class StreamApi(NamedTuple):
    """The connection, requests and prefix of the JetStream API."""

    connection: Connection
    asker: Asker
    prefix: str


class StreamInfo(msgspec.Struct, frozen=True):
    """The fields needed of a STREAM.INFO reply. `ts` is the leader's clock."""

    config: StreamConfig = StreamConfig()
    state: StreamState = StreamState()
    cluster: Cluster | None = None
    ts: Instant | None = None
    created: Instant | None = None
    error: ErrorReply | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences `first_seq` to `last_seq` of a stream; empty if the first lies after the last."""

    info: StreamInfo
    at: datetime
    asked: TimedReply
    first_seq: int
    last_seq: int

    def newest(self, sequences: int) -> Wanted:
        """The last `sequences` sequences of these; some of them may be deleted."""
        return msgspec.structs.replace(self, first_seq=max(self.first_seq, self.last_seq - sequences + 1))

    @property
    def name(self) -> str:
        """The stream."""
        return self.info.config.name

    @property
    def about(self) -> int:
        """Upper bound of the number of messages to read."""
        return min(self.info.state.messages, max(self.last_seq - self.first_seq + 1, 0))


def takes_consumer(info: StreamInfo) -> bool:
    """Whether a consumer is without effect on the stream.

    A work queue takes none without acknowledgements, and a stream of retention `interest` would keep messages for it.
    """
    return info.config.retention == _CONSUMER


async def read_stream(api: StreamApi, stream: str) -> Wanted:
    """Everything that the stream holds now. Raises NoReplyError, ReplyError and UnreadableError."""
    reply = await api.asker.one(f"{api.prefix}.STREAM.INFO.{stream}")
    info = decode(reply.body, StreamInfo)
    if info.error:
        raise ApiRefusedError(info.error)
    if info.state.last_seq > _MAX_SEQ:
        raise UnreadableError("its sequences are larger than can be counted here", "report it, with the stream's state")
    if info.cluster and info.cluster.name and not info.cluster.leader:
        raise UnreadableError("it has no leader", "bring back the servers that hold it, and run again")
    at = info.ts or reply.asked_at.astimezone(UTC)
    first = info.state.first_seq if info.state.messages else info.state.last_seq + 1
    return Wanted(info=info, at=at, asked=reply, first_seq=first, last_seq=info.state.last_seq)
