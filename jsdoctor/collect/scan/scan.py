"""`--scan`: the headers and dates of a stream's newest messages, as evidence, and a gap for what could not be read.

The method is chosen so that nothing of the stream changes: a consumer if retention is `limits`, else DIRECT.GET if the
stream allows it, else STREAM.MSG.GET. The last two, message by message, are slow, and each STREAM.MSG.GET makes servers
publish an audit advisory; so fewer messages are read by these methods, unless a number was given.
"""

from __future__ import annotations

import msgspec

from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.live.account import USER_INFO
from jsdoctor.collect.live.ask import Asker, NoReplyError, Why
from jsdoctor.collect.live.collection_result import CollectionResult, Progress
from jsdoctor.collect.live.unanswered import unanswered
from jsdoctor.collect.scan.consumer import read_by_consumer
from jsdoctor.collect.scan.contents import contents_of
from jsdoctor.collect.scan.direct import OneByOneError, read_by_batches
from jsdoctor.collect.scan.message_recorder import Digest, MessageRecorder, salted
from jsdoctor.collect.scan.rate import Rate
from jsdoctor.collect.scan.single import read_by_direct_gets, read_by_gets
from jsdoctor.collect.scan.stream import StreamApi, UnreadableError, Wanted, read_stream, takes_consumer
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.stored import ScanTarget
from jsdoctor.model.stored_ids import MAX_COMPARED
from jsdoctor.model.wording import counted
from jsdoctor.parse.replies import ApiRefusedError, ReplyError, user_of
from jsdoctor.parse.stored import StoredReply, scan_gap

NEWEST = 200_000
NEWEST_ONE_BY_ONE = 10_000
_LOOK = (
    "see that the stream exists in the account of this login, and what is said of it: nats stream ls; nats stream info"
)
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
    """Reads one stream: the method, the part of it, and whether the end was reached."""

    def __init__(
        self, api: StreamApi, target: ScanTarget, digest: Digest | None, contents: bool, progress: Progress
    ) -> None:
        self._api, self._target, self._progress = api, target, progress
        self._taker = MessageRecorder(digest)
        self._digest, self._compare = digest, contents
        self._contents: dict[int, str] | None = None
        self._read_by = "CONSUMER"
        self._complete = False

    async def into(self, collection: CollectionResult) -> None:
        """An exchange of what was read, and a gap if that is not all."""
        try:
            held = await read_stream(self._api, self._target.stream)
        except (NoReplyError, ReplyError, UnreadableError) as error:
            collection.gaps.append(await self._gap(error))
            return
        part = held.newest(self._target.newest or NEWEST)
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
        stream, again = self._target.stream, self._taker.columns.again()
        wanted = again[-MAX_COMPARED:]
        rate = Rate(stream, len(wanted), self._progress, "comparing the contents of")
        try:
            self._contents = await contents_of(self._api, stream, wanted, self._digest, rate)
        except (NoReplyError, ReplyError) as error:
            collection.gaps.append(await self._gap(error, "contents cannot be compared"))
            return
        if len(again) > len(wanted):
            reason = f"contents of {len(wanted):,} messages were compared, of {len(again):,} whose ids came twice"
            how = f"read fewer messages: --scan {stream}:N"
            collection.gaps.append(scan_gap(stream, await self._account(), reason, how))

    async def _read(self, held: Wanted, part: Wanted) -> Wanted:
        """The part that was read: less than was wanted if that would take too long."""
        if not part.about:
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
            self._read_by = "STREAM.MSG.GET"
            await read_by_gets(self._api, one_by_one, self._taker, self._rate(one_by_one))
            return one_by_one
        self._read_by = "DIRECT.GET"
        try:
            await read_by_batches(self._api, part, self._taker, self._rate(part))
        except OneByOneError:
            await read_by_direct_gets(self._api, one_by_one, self._taker, self._rate(one_by_one))
            return one_by_one
        return part

    def _rate(self, part: Wanted) -> Rate:
        return Rate(self._target.stream, part.about, self._progress)

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
            how = f'add "{_pattern(error.subject, stream)}" to publish.allow of the user\'s permissions'
            return scan_gap(stream, account, f"{read}: {error.words}", f"{how}, or use another login")
        how = error.how_to_get if isinstance(error, UnreadableError) else _LOOK
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
            read_by=self._read_by,
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
        )
        target, body = f"{self._api.prefix}.{self._read_by} of {held.name}", msgspec.json.encode(reply)
        asked_at, took_ns = held.asked.asked_at, held.asked.round_trip_ns
        return Exchange(Access.ACCOUNT, Endpoint.STORED_MESSAGES, target, asked_at, took_ns, body)


def _pattern(subject: str, stream: str) -> str:
    """The subject as a permission, for consumers of any name."""
    head, result, _ = subject.partition(f".{stream}.")
    return f"{head}{result}*" if result else subject
