"""`--scan`: the headers and dates of a stream's newest messages, as evidence, and a gap for what could not be read.

The method is chosen so that nothing of the stream changes: a consumer if retention is `limits`, else DIRECT.GET if the
stream allows it, else STREAM.MSG.GET. The last two, message by message, are slow, and each STREAM.MSG.GET makes servers
publish an audit advisory; so fewer messages are read by these methods, unless a number was given.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Iterable

import msgspec
from nats import errors

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import SequencePair
from jsdoctor.model.stored import ScanTarget
from jsdoctor.model.stored_ids import MAX_COMPARED
from jsdoctor.model.wording import counted
from jsdoctor.replies.advisories import AdvisoryTally
from jsdoctor.replies.clock import nanoseconds
from jsdoctor.replies.decoding import ApiRefusedError, ErrorReply, ReplyError, decode, user_of
from jsdoctor.replies.stored import StoredReply, scan_gap
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.scan.reads import AT_ONCE, OneByOneError, read_by_batches, read_by_direct_gets, read_by_gets
from jsdoctor.sources.scan.stream import (
    Digest,
    MessageRecorder,
    Rate,
    StreamApi,
    UnreadableError,
    Wanted,
    newest_of_size,
    read_stream,
    salted,
    stores_advisories,
    stores_api_audits,
    takes_consumer,
)
from jsdoctor.sources.servers.account import USER_INFO
from jsdoctor.sources.servers.ask import Asker, NoReplyError, Why
from jsdoctor.sources.servers.collection_result import CollectionResult, Progress
from jsdoctor.sources.servers.unanswered import unanswered

NEWEST = 200_000
NEWEST_ONE_BY_ONE = NEWEST_ADVISORIES = 10_000
_CHECK_STREAM_HINT = (
    "see that the stream exists in the account of this login, and what is said of it: nats stream ls; nats stream info"
)
_ALLOW_DIRECT = "allow direct gets (nats stream edit STREAM --allow-direct)"
_NO_MORE_CONSUMERS = (10026, 10109)
"""The stream, the account or the server takes no further consumer; or the stream is sealed."""


async def scan_streams(
    connection: Connection, prefix: str, plan: CollectionPlan, collection: CollectionResult, progress: Progress
) -> None:
    """Read every stream of the plan, one after the other. What cannot be read becomes a gap in `collection`."""
    api = StreamApi(connection, Asker(connection, plan.timeout_s), prefix)
    digest = salted() if plan.scan_ids else None
    for target in plan.scan:
        await _Scan(api, target, digest, plan.scan_contents, progress).into(collection)


def not_scanned(plan: CollectionPlan) -> list[Gap]:
    """The gaps of a run without a login that could read messages."""
    reason = "its messages cannot be read: the system account has none, and HTTP monitoring shows none"
    how = "use a login of the account that owns {0}: --server or --context, and --scan {0}"
    return [scan_gap(target.stream, "", reason, how.format(target.stream)) for target in plan.scan]


class _Scan:
    """Reads one stream; notes the method, and whether the end was reached."""

    def __init__(
        self, api: StreamApi, target: ScanTarget, digest: Digest | None, contents: bool, progress: Progress
    ) -> None:
        self._api, self._target, self._progress = api, target, progress
        self._taker = MessageRecorder(digest)
        self._digest, self._compare = digest, contents
        self._contents: dict[int, str] | None = None
        self._method = "CONSUMER"
        self._complete = False

    async def into(self, collection: CollectionResult) -> None:
        """Read the stream. Adds an exchange of what was read to the collection, and a gap if that is not all."""
        try:
            held = await read_stream(self._api, self._target.stream)
        except (NoReplyError, ReplyError, UnreadableError) as error:
            collection.gaps.append(await self._gap(error))
            return
        default_count = NEWEST
        if stores_advisories(held.info):
            self._taker.advisories = AdvisoryTally(nanoseconds(held.at))
            default_count = newest_of_size(held.info, NEWEST_ADVISORIES)
        part = held.newest(self._target.newest or default_count)
        try:
            part = await self._read(held, part)
            self._complete = True
        except (NoReplyError, ReplyError, UnreadableError) as error:
            collection.gaps.append(await self._gap(error))
        await self._read_contents(collection)
        if self._complete or self._taker.columns.messages:
            collection.exchanges.append(self._exchange(held, part))

    async def _read_contents(self, collection: CollectionResult) -> None:
        """Also read the contents of messages with equal ids, if requested: the newest first, up to the usual limit."""
        if self._digest is None or not self._compare:
            return
        stream, repeated = self._target.stream, self._taker.columns.again()
        wanted = repeated[-MAX_COMPARED:]
        rate = Rate(stream, len(wanted), self._progress, "comparing the contents of")
        try:
            self._contents = await contents_of(self._api, stream, wanted, self._digest, rate)
        except (NoReplyError, ReplyError) as error:
            collection.gaps.append(await self._gap(error, "contents cannot be compared"))
            return
        if len(repeated) > len(wanted):
            reason = f"contents of {len(wanted):,} messages were compared, of {len(repeated):,} whose ids came twice"
            how = f"read fewer messages: --scan {stream}:N"
            collection.gaps.append(scan_gap(stream, await self._account(), reason, how))

    async def _read(self, held: Wanted, part: Wanted) -> Wanted:
        """Read with the best method, and note which. Returns the part that was read: slow methods read less."""
        if not part.max_messages:
            return part
        if takes_consumer(held.info):
            try:
                await read_by_consumer(self._api, part, self._taker, self._rate(part))
            except ApiRefusedError as error:
                if error.err_code not in _NO_MORE_CONSUMERS:
                    raise
            else:
                return part
        one_by_one = held.newest(self._target.newest or NEWEST_ONE_BY_ONE)
        if not held.info.config.allow_direct:
            if stores_api_audits(held.info):
                raise UnreadableError("each request to read one of them adds an advisory to it", _ALLOW_DIRECT)
            self._method = "STREAM.MSG.GET"
            await read_by_gets(self._api, one_by_one, self._taker, self._rate(one_by_one))
            return one_by_one
        self._method = "DIRECT.GET"
        try:
            await read_by_batches(self._api, part, self._taker, self._rate(part))
        except OneByOneError:
            await read_by_direct_gets(self._api, one_by_one, self._taker, self._rate(one_by_one))
            return one_by_one
        return part

    def _rate(self, part: Wanted) -> Rate:
        return Rate(self._target.stream, part.max_messages, self._progress)

    async def _gap(self, error: NoReplyError | ReplyError | UnreadableError, what: str = "") -> Gap:
        stream, account = self._target.stream, await self._account()
        if isinstance(error, NoReplyError) and error.why is not Why.DENIED:
            return unanswered(
                error, "scan", Subject(kind="stream", name=stream, account=account), self._api.asker.timeout_s
            )
        messages = self._taker.columns.messages
        read = (
            f"only {counted(messages, 'stored message')} could be read" if messages else "its messages cannot be read"
        )
        read = what or read
        if isinstance(error, NoReplyError):
            how = f'add "{_permission_subject(error.subject, stream)}" to publish.allow of the user\'s permissions'
            return scan_gap(stream, account, f"{read}: {error.words}", f"{how}, or use another login")
        how = error.how_to_get if isinstance(error, UnreadableError) else _CHECK_STREAM_HINT
        return scan_gap(stream, account, f"{read}: {error}", how)

    async def _account(self) -> str:
        """The account of the streams; only gaps need it, everything else gets it where the replies are combined."""
        try:
            return user_of((await self._api.asker.one(USER_INFO)).body).label
        except (NoReplyError, ReplyError):
            return ""

    def _exchange(self, held: Wanted, part: Wanted) -> Exchange:
        columns, cluster = self._taker.columns, held.info.cluster
        reply = StoredReply(
            stream=held.name,
            read_by=self._method,
            at=held.at,
            answered_by=cluster.leader if cluster else "",
            held_first_seq=held.first_seq,
            from_seq=part.first_seq,
            to_seq=part.last_seq if self._complete else columns.last_seq,
            subjects=columns.subjects(),
            blocks=columns.blocks(),
            created=held.info.created,
            duplicate_window=held.info.config.duplicate_window_ns,
            ids_read=self._digest is not None,
            contents=self._contents,
            markers=self._taker.markers,
            advisories=self._taker.advisories.all() if self._taker.advisories else None,
        )
        target, body = f"{self._api.prefix}.{self._method} of {held.name}", msgspec.json.encode(reply)
        asked_at, took_ns = held.asked.asked_at, held.asked.round_trip_ns
        return Exchange(Access.ACCOUNT, Endpoint.STORED_MESSAGES, target, asked_at, took_ns, body)


def _permission_subject(subject: str, stream: str) -> str:
    """The subject as a permission, with `*` for the name of the consumer."""
    head, result, _ = subject.partition(f".{stream}.")
    return f"{head}{result}*" if result else subject


# Reading whole messages, few of them: those whose ids came more than once, to see whether one id was two messages'.
#
# Each keeps a salted digest of its subject and its content, nothing else.


class _MessageBody(msgspec.Struct, frozen=True):
    subject: str = ""
    data: str = ""


class _MessageBodyReply(msgspec.Struct, frozen=True):
    message: _MessageBody | None = None
    error: ErrorReply | None = None


async def contents_of(
    api: StreamApi, stream: str, sequences: Iterable[int], digest: Digest, rate: Rate
) -> dict[int, str]:
    """Digests by sequence; a message that is gone meanwhile is left out. Raises NoReplyError and ReplyError."""
    subject, wanted = f"{api.prefix}.STREAM.MSG.GET.{stream}", list(sequences)
    contents: dict[int, str] = {}

    async def get(stream_seq: int) -> None:
        got = decode((await api.asker.one(subject, b'{"seq":%d}' % stream_seq)).body, _MessageBodyReply)
        if got.message is not None:
            contents[stream_seq] = digest(f"{got.message.subject}\0{_decoded_content(got.message.data)}").hex()

    for start in range(0, len(wanted), AT_ONCE):
        await asyncio.gather(*map(get, wanted[start : start + AT_ONCE]))
        rate.report(len(contents))
    return contents


def _decoded_content(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("latin-1")
    except binascii.Error as error:
        raise ReplyError(f"a stored message's content is no base64: {error}") from error


# Reads by a consumer of our own: without acknowledgements, headers only, in memory, deleted when inactive.
#
# The server keeps or changes no message because of it. The consumer is deleted at the end, also after an error or an
# interrupt; if the request to delete it does not arrive, the server deletes it itself, soon after the last request. The
# reading ends at the last wanted message; if that message is deleted, a request to the server shows what is left.

INACTIVE_NS = 10_000_000_000
IN_FLIGHT = 10_000
_BATCH = 2_500
_WAIT_S = 0.1
_DELETE_TIMEOUT_S = 2.0
_EXPIRES_NS = 300_000_000_000
_QUIET_S = 1.0
_SHORT_ACK_TOKENS = 9  # of an ack subject without a domain
_BATCHES_IN_FLIGHT, _REFILL_BATCHES = 4, 3


class _BatchLimit(msgspec.Struct, frozen=True):
    max_batch: int = 0


class _ScanConsumerInfo(msgspec.Struct, frozen=True):
    num_pending: int = 0
    delivered: SequencePair = SequencePair()
    config: _BatchLimit = _BatchLimit()
    error: ErrorReply | None = None


async def read_by_consumer(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Read what is wanted; what was read before an error is kept.

    Raises NoReplyError, ReplyError, ApiRefusedError and UnreadableError.
    """
    client, asker, prefix = api.connection.client, api.asker, api.prefix
    name = f"jsdoctor-{client.new_inbox().rsplit('.', 1)[-1]}"
    reading = _PullReader(api, f"{wanted.name}.{name}", wanted.last_seq, taker)
    inbox = await client.subscribe(client.new_inbox())
    client.tap(inbox, reading.on_message)
    try:
        request = msgspec.json.encode(
            {"stream_name": wanted.name, "config": _consumer_config(name, wanted, not taker.advisories)}
        )
        created = decode(
            (await asker.one(f"{prefix}.CONSUMER.CREATE.{wanted.name}.{name}", request)).body, _ScanConsumerInfo
        )
        if created.error:
            raise ApiRefusedError(created.error)
        if created.num_pending:
            await reading.run(inbox.subject, created.config.max_batch or _BATCH, rate)
    finally:
        await _delete_consumer(api.connection, f"{prefix}.CONSUMER.DELETE.{wanted.name}.{name}")
        with contextlib.suppress(errors.Error, OSError):
            await inbox.unsubscribe()
        client.untap(inbox)


def _consumer_config(name: str, wanted: Wanted, headers_only: bool) -> dict[str, object]:
    longest_ns = wanted.info.config.consumer_limits.inactive_threshold_ns or INACTIVE_NS
    return {
        "name": name,
        "description": "jsdoctor reads headers; it deletes this consumer itself",
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": wanted.first_seq,
        "ack_policy": "none",
        "headers_only": headers_only,
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": min(INACTIVE_NS, longest_ns),
    }


async def _delete_consumer(connection: Connection, subject: str) -> None:
    """Delete the consumer, even during an interrupt. If it was never created, the server's error reply is ignored."""
    with contextlib.suppress(errors.Error, OSError):
        await asyncio.wait_for(connection.client.request(subject, b"", timeout=_DELETE_TIMEOUT_S), _DELETE_TIMEOUT_S)


class _PullReader:
    """Requests messages as fast as they are read."""

    def __init__(self, api: StreamApi, consumer: str, last_seq: int, taker: MessageRecorder) -> None:
        self._client, self._asker = api.connection.client, api.asker
        self._subject, self._info = (f"{api.prefix}.CONSUMER.{what}.{consumer}" for what in ("MSG.NEXT", "INFO"))
        self._last_seq = last_seq
        self._taker = taker
        self._done = asyncio.Event()
        self._failure: Exception | None = None
        self._count = self._requested = self._refused_requests = 0
        self._inbox, self._batch, self._refill_below = "", _BATCH, 0

    async def run(self, inbox: str, max_batch: int, rate: Rate) -> None:
        """Request and await messages until the last one has come, or the server has no more."""
        self._inbox, self._batch = inbox, min(_BATCH, max_batch)
        self._refill_below = _REFILL_BATCHES * self._batch
        loop = asyncio.get_running_loop()
        begun_at = received_at = loop.time()
        counted_before = 0
        while self._requested < min(IN_FLIGHT, _BATCHES_IN_FLIGHT * self._batch):
            await self._request_batch()
        while not self._done.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), _WAIT_S)
            rate.report(self._count)
            if self._refused_requests and not self._done.is_set():
                await self._repeat_requests(loop.time() - begun_at)
            if self._count > counted_before:
                received_at, counted_before = loop.time(), self._count
            elif not self._done.is_set():
                self._asker.raise_if_denied(self._subject)
                quiet_s = loop.time() - received_at
                if quiet_s > self._asker.timeout_s:
                    raise NoReplyError(Why.LATE, self._subject)
                if quiet_s > _QUIET_S and await self._has_all():
                    return
        if self._failure:
            raise self._failure

    async def _has_all(self) -> bool:
        """Whether the server has sent everything, and all of it has come."""
        info = decode((await self._asker.one(self._info)).body, _ScanConsumerInfo)
        if info.error:
            raise ApiRefusedError(info.error)
        return not info.num_pending and info.delivered.consumer_seq == self._count

    async def _repeat_requests(self, after_s: float) -> None:
        """Request again: until our server knows where the consumer is, it reports no responders."""
        if after_s > self._asker.timeout_s:
            raise NoReplyError(Why.NOBODY, self._subject)
        refused, self._refused_requests = self._refused_requests, 0
        self._requested -= refused * self._batch
        for _ in range(refused):
            await self._request_batch()

    async def _request_batch(self) -> None:
        self._requested += self._batch
        request = b'{"batch":%d,"expires":%d}' % (self._batch, _EXPIRES_NS)
        await self._client.publish(self._subject, request, reply=self._inbox)

    async def on_message(self, subject: bytes, reply: bytes, headers: bytes, payload: bytes) -> None:
        """Take a message of the stream, or a status of the server. An error ends the reading: `run` raises it."""
        if self._done.is_set():
            return
        try:
            if not reply:
                self._handle_status(headers)
                return
            self._take(subject, reply, headers, payload)
            if (
                self._requested - self._count <= self._refill_below and not self._done.is_set()
            ):  # in this order: it is seldom low
                await self._request_batch()
        except Exception as error:  # noqa: BLE001 - raised again by `run`, whose caller handles it
            self._failure = error
            self._done.set()

    def _take(self, subject: bytes, reply: bytes, headers: bytes, payload: bytes) -> None:
        # $JS.ACK.STREAM.CONSUMER.DELIVERED.STREAM_SEQ.CONSUMER_SEQ.TIME.PENDING; with a domain it stands before STREAM.
        tokens = reply.split(b".")
        first = 5 if len(tokens) == _SHORT_ACK_TOKENS else 7
        try:
            stream_seq, consumer_seq, date_ns = int(tokens[first]), int(tokens[first + 1]), int(tokens[first + 2])
        except (IndexError, ValueError):
            raise UnreadableError(
                f"messages come with the reply subject {reply[:80].decode(errors='replace')}, which has no date",
                "connect to the account and domain that the stream belongs to, without imports between",
            ) from None
        self._count += 1
        if consumer_seq != self._count:
            raise UnreadableError("messages were lost on the way", "run again, with less load on this machine")
        if stream_seq <= self._last_seq:
            self._taker.take_raw(stream_seq, date_ns, subject.decode(errors="replace"), headers, payload)
        if stream_seq >= self._last_seq:
            self._done.set()

    def _handle_status(self, headers: bytes) -> None:
        """Count a request without responders; raise UnreadableError for any other status but a heartbeat."""
        # NATS/1.0 409 Consumer Deleted
        _, _, status = headers.partition(b"\r\n")[0].decode(errors="replace").partition(" ")
        if status.startswith("503"):
            self._refused_requests += 1
        elif not status.startswith("100"):
            raise UnreadableError(f"the server stopped sending: {status}", "run again")
