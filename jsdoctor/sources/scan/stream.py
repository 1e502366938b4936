"""A stream that is to be read: its state on the leader, what is recorded of a message (no payload), and progress."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from time import monotonic
from typing import NamedTuple

import msgspec
from nats.js.api import Header

from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.reported import Instant
from jsdoctor.model.subjects import subjects_overlap
from jsdoctor.replies.advisories import AdvisoryTally
from jsdoctor.replies.decoding import ApiRefusedError, ErrorReply, ReplyError, decode
from jsdoctor.replies.stored import DIGEST_BYTES, Columns, HasId
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.servers.ask import Asker, TimedReply
from jsdoctor.sources.servers.collection_result import Progress

_REPORT_INTERVAL_S = 0.2
_RATE_AFTER_S = 0.5


class Rate:
    """Reports the progress of one stream."""

    def __init__(
        self, stream: str, max_messages: int, progress: Progress, doing: str = "reading the headers of"
    ) -> None:
        self._what, self._max_messages, self._progress = f"{doing} {stream}", max_messages, progress
        self._started = monotonic()
        self._due = 0.0

    def report(self, messages: int) -> None:
        """Report the number of messages read so far."""
        now = monotonic()
        if now < self._due:
            return
        self._due = now + _REPORT_INTERVAL_S
        self._progress(self.words(messages, now - self._started))

    def words(self, messages: int, seconds: float) -> str:
        """`reading the headers of ORDERS: 40,000 of 200,000, 35,000/s, 5 s left`."""
        text = f"{self._what}: {messages:,} of {self._max_messages:,}"
        if seconds < _RATE_AFTER_S or not messages:
            return text
        rate = messages / seconds
        left_s = max(self._max_messages - messages, 0) / rate
        return f"{text}, {rate:,.0f}/s, {left_s:,.0f} s left"


_SECOND_NS = 1_000_000_000
_MSG_ID: str = Header.MSG_ID.value
_MSG_ID_LOWER = _MSG_ID.lower()
_RAW_MSG_ID = f"\r\n{_MSG_ID}:".encode()
_RAW_MSG_ID_LOWER = _RAW_MSG_ID.lower()
_MARKER, _TTL = "KV-Operation", "Nats-TTL"
"""A client deletes a key of a bucket with a message that has the first header (ADR-8: DEL or PURGE). With the second
one the message has an end (ADR-43), as all markers that servers write."""
_RAW_MARKER, _RAW_TTL = (f"\r\n{name}:".encode() for name in (_MARKER, _TTL))
_SOURCE = "Nats-Stream-Source"
_RAW_SOURCE = f"\r\n{_SOURCE}:".encode()
_NO, _YES, _MISNAMED = map(int, HasId)
"""Plain numbers: this is done for every message, and members of an enumeration are slow."""

Digest = Callable[[str], bytes]


def salted() -> Digest:
    """Digests that distinguish equal ids of one run from different ones, and nothing else: the salt is discarded."""
    salt = os.urandom(16)
    return lambda text: blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES, key=salt).digest()


class MessageRecorder:
    """Puts messages into columns, and counts those that mark a key of a bucket as deleted and have no end."""

    def __init__(self, digest: Digest | None = None) -> None:
        self.columns = Columns(digests=digest is not None)
        self.markers = 0
        self.advisories: AdvisoryTally | None = None
        """Where payloads are read too: of a stream that records advisories."""
        self._digest = digest

    def take(
        self, stream_seq: int, date_ns: int, subject: str, headers: Mapping[str, str] | None, payload: bytes = b""
    ) -> None:
        """Record one message. Messages come in the order of their sequences."""
        if self.advisories:
            self.advisories.add(date_ns, payload)
        if headers and _MARKER in headers and _TTL not in headers:
            self.markers += 1
        if headers and (message_id := headers.get(_MSG_ID)):
            digest = self._digest(_identity(message_id, headers.get(_SOURCE, ""))) if self._digest else b""
            self.columns.add(stream_seq, date_ns, subject, _YES, digest)
        elif headers and len(headers) > 1 and _MSG_ID_LOWER in map(str.lower, headers):
            self.columns.add(stream_seq, date_ns, subject, _MISNAMED)
        else:
            self.columns.add(stream_seq, date_ns, subject, _NO)

    def take_raw(self, stream_seq: int, date_ns: int, subject: str, headers: bytes, payload: bytes = b"") -> None:
        """Like `take`, with the header block as received."""
        if self.advisories:
            self.advisories.add(date_ns, payload)
        if _RAW_MARKER in headers and _RAW_TTL not in headers:
            self.markers += 1
        at = headers.find(_RAW_MSG_ID)
        if at >= 0 and (message_id := _raw_value(headers, at + len(_RAW_MSG_ID))):
            digest = b""
            if self._digest:
                source = headers.find(_RAW_SOURCE)
                origin = _raw_value(headers, source + len(_RAW_SOURCE)) if source >= 0 else b""
                digest = self._digest(_identity(_decoded(message_id), _decoded(origin)))
            self.columns.add(stream_seq, date_ns, subject, _YES, digest)
        elif at < 0 and _RAW_MSG_ID_LOWER in headers.lower():
            self.columns.add(stream_seq, date_ns, subject, _MISNAMED)
        else:
            self.columns.add(stream_seq, date_ns, subject, _NO)


def _identity(message_id: str, source: str) -> str:
    """The id together with the stream that it was published to; `ORDERS 7 > >` is the source of a copied message."""
    return f"{source.partition(' ')[0]} {message_id}" if source else message_id


def _decoded(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def _raw_value(headers: bytes, start: int) -> bytes:
    return headers[start : headers.find(b"\r\n", start)].strip()


@lru_cache(maxsize=64)
def _unix_seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def date_ns(text: str) -> int:
    """A time as servers write it (`2026-11-21T10:05:37.968123456Z`), exact to the nanosecond. Raises `ReplyError`."""
    try:
        whole, point, rest = text.partition(".")
        if not point:
            return _unix_seconds(whole) * _SECOND_NS
        digits = rest.rstrip("Z").partition("+")[0].partition("-")[0]
        return _unix_seconds(whole + rest[len(digits) :]) * _SECOND_NS + int(digits.ljust(9, "0")[:9])
    except ValueError as error:
        raise ReplyError(f"a stored message has the date {text[:60]!r}") from error


def headers_of(packed: str | None) -> dict[str, str]:
    """The headers that STREAM.MSG.GET has in base64. Of equal names the first counts, as it does for servers."""
    headers: dict[str, str] = {}
    if packed:
        for line in base64.b64decode(packed).split(b"\r\n")[1:]:
            name, colon, value = line.decode(errors="surrogateescape").partition(":")
            if colon:
                headers.setdefault(name, value.strip())
    return headers


_LIMITS_RETENTION = "limits"
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
    def max_messages(self) -> int:
        """Upper bound of the number of messages to read."""
        return min(self.info.state.messages, max(self.last_seq - self.first_seq + 1, 0))


def takes_consumer(info: StreamInfo) -> bool:
    """Whether a consumer has no effect on the stream.

    A work queue takes none without acknowledgements, and a stream of retention `interest` would keep messages for it.
    """
    return info.config.retention == _LIMITS_RETENTION


_ADVISORIES, _AUDITS, _SERVERS = "$JS.EVENT.ADVISORY.>", "$JS.EVENT.ADVISORY.API", "$"
_MAX_BYTES = 64 << 20


def stores_advisories(info: StreamInfo, advisories: str = _ADVISORIES) -> bool:
    """Whether it is a stream of advisories. One of all subjects (`>`) is not read as such."""
    own = (subject for subject in info.config.subjects if subject.startswith(_SERVERS))
    return any(subjects_overlap(subject, advisories) for subject in own)


def stores_api_audits(info: StreamInfo) -> bool:
    """Whether each request to the JetStream API adds a message to it."""
    return stores_advisories(info, _AUDITS)


def newest_of_size(info: StreamInfo, at_most: int) -> int:
    """The number of its newest messages that have about 64 MiB in total; not more than `at_most`."""
    return min(at_most, _MAX_BYTES * max(info.state.messages, 1) // max(info.state.bytes, 1))


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
