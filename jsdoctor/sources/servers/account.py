"""Collection with a login of a plain account: its own streams and consumers, through the JetStream API.

Replies come from leaders, so every reply is authoritative. A sample costs one request per 256 streams, and one per 256
consumers of each stream that has any and that is not idle since the sample before; the first sample also needs one
request for the name of the account and one for its usage. The consumers of a stream whose leader does not respond are
not requested: that would only cost another timeout.

Longest time of a sample: one timeout for the first page of the stream list, one for the others, and two for the
consumers; requests end after a whole timeout without any reply. Slow requests overlap (`pacing`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.api_refusals import NO_META_LEADER
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import Cluster
from jsdoctor.replies.decoding import ConsumerReply, ListHead, ReplyError, StreamReply, user_of
from jsdoctor.replies.jsz import ListPage, read_consumers, read_streams
from jsdoctor.sources.servers.ask import Asker, NoReplyError, TimedReply, Why, decoded
from jsdoctor.sources.servers.collection_result import CollectionResult, Progress, no_progress
from jsdoctor.sources.servers.torn import MAX_TORN, SETTLE_S
from jsdoctor.sources.servers.unanswered import no_jetstream, not_allowed, not_asked, unanswered

USER_INFO = "$SYS.REQ.USER.INFO"
PARALLEL = 16
_PATIENCE_S = 0.5  # a request that takes longer gives its slot back
_MAX_PAGES = 1_000
"""Maximum number of pages of one list; a page has 256 entries. Entries beyond become a gap, as a page has the total."""


_ItemT = TypeVar("_ItemT")


class AccountSource:
    """Queries the JetStream API under `prefix`: `$JS.API`, or that of another domain or account."""

    def __init__(self, asker: Asker, prefix: str, plan: CollectionPlan) -> None:
        self.exhausted = False
        self._awaits_leader = False
        self._asker = asker
        self._prefix = prefix
        self._plan = plan
        self._slots = Slots(PARALLEL, _PATIENCE_S)
        self._account = ""
        self._first = True
        self._idle_streams = IdleStreams()
        self._unresponsive: set[str] = set()
        self._offsets: dict[str, list[int]] = {}
        self._failures: list[tuple[NoReplyError, str, str]] = []
        self._torn: set[tuple[str, str]] = set()

    async def sample(self, progress: Progress = no_progress) -> CollectionResult:
        """Streams and consumers; in the first sample also the name of the account and the use of its limits.

        From the second sample on, consumers are requested only if they can have changed (`IdleStreams`).
        """
        collection = CollectionResult(begun_at=asyncio.get_running_loop().time())
        requests = []
        self._torn = set()
        if self._first:
            requests.append(self._ask_user(collection))
            if self._plan.accounts:
                requests.append(self._ask_usage(collection))
        if self._plan.assets:
            requests.append(self._ask_assets(collection, progress))
        self._first = False
        await asyncio.gather(*requests)
        # Only now is the account's name known for certain.
        collection.gaps += [self._gap(*failure) for failure in self._failures]
        self._failures.clear()
        self.exhausted = self.exhausted or not self._plan.assets
        return collection

    async def repeat(self, progress: Progress = no_progress) -> CollectionResult:
        """Request again, one by one, the streams and consumers whose leader did not respond in the last sample.

        A server that collects a list waits four seconds for an asset that is deleted meanwhile, and then lists it as
        missing. A name that was missing in the sample before as well may be another asset each time: only the reply for
        that one asset shows whether it exists, and since when.
        """
        collection = CollectionResult()
        if not self._torn or len(self._torn) > MAX_TORN:
            return collection
        progress(f"asking again for {len(self._torn)} assets that changed meanwhile")
        await asyncio.sleep(SETTLE_S)
        streams = sorted(stream for stream, consumer in self._torn if not consumer)
        consumers = sorted((stream, consumer) for stream, consumer in self._torn if consumer)
        names = [f"{stream}.{consumer}" for stream, consumer in consumers] if self._plan.consumers else []
        stream_failures, consumer_failures = await asyncio.gather(
            asyncio.gather(*(self._ask_again(collection, Endpoint.STREAM_INFO_AGAIN, stream) for stream in streams)),
            asyncio.gather(*(self._ask_again(collection, Endpoint.CONSUMER_INFO_AGAIN, name) for name in names)),
        )
        if self._plan.consumers:
            # A stream without a leader does not respond for its consumers either, and would cost another timeout.
            responding = {stream for stream, why in zip(streams, stream_failures, strict=True) if why is not Why.LATE}
            denied = {
                stream for (stream, _), why in zip(consumers, consumer_failures, strict=False) if why is Why.DENIED
            }
            await asyncio.gather(
                *(self._ask_consumers_again(collection, stream) for stream in sorted(responding | denied))
            )
        return collection

    async def _ask_again(self, collection: CollectionResult, endpoint: Endpoint, name: str) -> Why | None:
        """Request one asset again. Returns why there was no reply: the asset then stays as the sample has it."""
        subject = f"{self._prefix}.{endpoint.value.removesuffix('.again')}.{name}"
        try:
            async with self._slots.one():
                reply = await self._asker.one(subject)
        except NoReplyError as error:
            return error.why
        collection.exchanges.append(reply.exchange(Access.ACCOUNT, endpoint, subject))
        return None

    async def _ask_consumers_again(self, collection: CollectionResult, stream: str) -> None:
        subject = f"{self._prefix}.CONSUMER.LIST.{stream}"

        async def read_page(offset: int) -> ListPage[ConsumerReply] | None:
            async with self._slots.one():
                try:
                    reply = await self._asker.one(subject, _page_request(offset))
                except NoReplyError:
                    return None
            return self._keep(collection, Endpoint.CONSUMER_LIST_AGAIN, subject, reply, read_consumers)

        await self._all_pages(subject, read_page)

    async def _ask_user(self, collection: CollectionResult) -> None:
        try:
            reply = await self._asker.one(USER_INFO)
            collection.exchanges.append(reply.exchange(Access.ACCOUNT, Endpoint.USER_INFO, USER_INFO))
            self._account = user_of(reply.body).label
        except (NoReplyError, ReplyError):
            return  # it only names the account: what matters does not depend on it

    async def _ask_usage(self, collection: CollectionResult) -> None:
        subject = f"{self._prefix}.INFO"
        try:
            reply = await self._asker.one(subject)
        except NoReplyError as error:
            self._failures.append((error, "endpoint", ""))
        else:
            collection.exchanges.append(reply.exchange(Access.ACCOUNT, Endpoint.ACCOUNT_INFO, subject))

    async def _ask_assets(self, collection: CollectionResult, progress: Progress) -> None:
        progress("requesting streams")
        streams = await self._ask_streams(collection)
        if streams is None:
            self.exhausted = not self._awaits_leader  # an election may be over by the next sample
            return
        collection.begun_at = asyncio.get_running_loop().time()
        with_consumers = {stream.config.name for stream in streams if stream.state.consumer_count} - self._unresponsive
        idle = self._idle_streams.find(streams) & with_consumers
        if idle and self._plan.consumers:
            collection.exchanges.append(_idle_exchange(idle))
        if changed := with_consumers - idle:
            progress(f"requesting the consumers of {len(changed)} streams")
            await self._ask_consumers(collection, changed)

    async def _ask_streams(self, collection: CollectionResult) -> list[StreamReply] | None:
        """Each stream whose leader responds; None if the list itself cannot be collected. Records torn streams."""
        subject = f"{self._prefix}.STREAM.LIST"

        async def read_page(offset: int) -> ListPage[StreamReply] | None:
            async with self._slots.one():
                try:
                    reply = await self._ask(subject, offset)
                except NoReplyError as error:
                    self._failures.append((error, "stream", ""))
                    return None
            return self._keep(collection, Endpoint.STREAM_LIST, subject, reply, read_streams)

        pages = await self._all_pages(subject, read_page)
        refusal = pages[0].head.error if pages else None
        self._awaits_leader = refusal is not None and refusal.err_code == NO_META_LEADER
        if pages is None or refusal:
            return None
        silent = set().union(*(page.unresponsive for page in pages))
        self._torn |= {(name, "") for page in pages for name in page.head.missing or ()}
        streams = [stream for page in pages for stream in page.items]
        return [stream for stream in streams if stream.config.name and stream.config.name not in silent]

    async def _ask(self, subject: str, offset: int) -> TimedReply:
        """One page. Raises NoReplyError."""
        reply = await self._asker.one(subject, _page_request(offset), again=True)
        self._slots.responded(reply.round_trip_ns / 1e9)
        return reply

    async def _ask_consumers(self, collection: CollectionResult, streams: Collection[str]) -> None:
        if not (self._plan.consumers and streams):
            return
        tally = RoundStats(self._asker.timeout_s, self._asker.now_s())
        await asyncio.gather(*(self._ask_consumers_of(collection, stream, tally) for stream in sorted(streams)))
        denied = tally.denied | tally.skipped if tally.is_forbidden else tally.denied
        if denied:
            collection.gaps.append(not_allowed(f"{self._prefix}.CONSUMER.LIST.*", denied, tally.words))
        if skipped := tally.skipped - denied:
            collection.gaps.append(not_asked(skipped, self._asker.timeout_s))
        self._unresponsive |= denied | skipped | tally.late

    async def _ask_consumers_of(self, collection: CollectionResult, stream: str, tally: RoundStats) -> None:
        subject = f"{self._prefix}.CONSUMER.LIST.{stream}"

        async def read_page(offset: int) -> ListPage[ConsumerReply] | None:
            async with self._slots.one():
                if tally.is_in_vain(self._asker.now_s()):
                    tally.skipped.add(stream)
                    return None
                try:
                    reply = await self._ask(subject, offset)
                except NoReplyError as error:
                    tally.failed(stream, error)
                    if error.why is not Why.DENIED:
                        self._failures.append((error, "consumer", stream))
                    return None
            tally.received(self._asker.now_s())
            page = self._keep(collection, Endpoint.CONSUMER_LIST, subject, reply, read_consumers)
            self._torn |= {(stream, name) for name in page.head.missing or ()}
            return page

        pages = await self._all_pages(subject, read_page)
        self._idle_streams.record(stream, [c for page in pages or () for c in page.items])

    def _keep(
        self,
        collection: CollectionResult,
        endpoint: Endpoint,
        subject: str,
        reply: TimedReply,
        read: Callable[[Exchange], ListPage[_ItemT]],
    ) -> ListPage[_ItemT]:
        """Keep the reply and read it. What cannot be decoded becomes a gap where it is parsed."""
        exchange = decoded(reply.exchange(Access.ACCOUNT, endpoint, subject), self._plan)
        collection.exchanges.append(exchange)
        try:
            return read(exchange)
        except ReplyError:
            return ListPage(ListHead())

    async def _all_pages(
        self, subject: str, read_page: Callable[[int], Awaitable[ListPage[_ItemT] | None]]
    ) -> list[ListPage[_ItemT]] | None:
        """All pages of a list.

        The offsets of the last sample (in the first sample: the first page) are requested at once, then all others at
        once.
        """
        offsets = self._offsets.get(subject, [0])
        pages = await asyncio.gather(*map(read_page, offsets))
        if (first := pages[0]) is None:
            return None
        head = first.head
        needed = list(range(0, head.total, head.limit)[:_MAX_PAGES]) if head.limit > 0 else []
        more = await asyncio.gather(*(read_page(offset) for offset in needed if offset not in offsets))
        self._offsets[subject] = needed or [0]
        return [page for page in (*pages, *more) if page is not None]

    def _gap(self, error: NoReplyError, kind: str, stream: str) -> Gap:
        """The gap for a stream's consumers, or without a stream for the account."""
        if error.why is Why.NOBODY:
            return no_jetstream(self._prefix, self._account)
        subject = (
            Subject(kind="stream", name=stream, account=self._account)
            if stream
            else Subject(kind="account", name=self._account)
        )
        return unanswered(error, kind, subject, self._asker.timeout_s)


def _idle_exchange(streams: Iterable[str]) -> Exchange:
    body = msgspec.json.encode(sorted(streams))
    return Exchange(Access.ACCOUNT, Endpoint.CONSUMERS_AT_REST, "", datetime.now(UTC), 0, body)


def _page_request(offset: int) -> bytes:
    return msgspec.json.encode({"offset": offset})


# Finds streams whose consumers cannot have changed since the last sample, so that they need no new request.
#
# A consumer with nothing to deliver and nothing to acknowledge does not change while its stream stores no message. A
# plain account requests consumers stream by stream, so in a mostly idle deployment this halves the requests of a run.
# Consumers that any rule could report are never idle: num pending, ack pending or redelivered is not 0, it is paused,
# it has no leader, or a replica is behind.


class IdleStreams:
    """Keeps the last state of each stream and of its consumers, from one sample to the next."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[object, ...]] = {}
        self._consumers: dict[str, list[ConsumerReply]] = {}

    def find(self, streams: Iterable[StreamReply]) -> set[str]:
        """The streams whose consumers are idle. Records the state of all streams, so call it once per sample."""
        now = {stream.config.name: stream for stream in streams}
        idle = {name for name, stream in now.items() if self._has_idle_consumers(name, stream)}
        self._streams = {name: _fingerprint(stream) for name, stream in now.items()}
        self._consumers = {name: self._consumers[name] for name in idle if name in self._consumers}
        return idle

    def _has_idle_consumers(self, name: str, stream: StreamReply) -> bool:
        consumers = self._consumers.get(name, ())
        return (
            self._streams.get(name) == _fingerprint(stream)
            and len(consumers) == stream.state.consumer_count
            and all(_is_idle(consumer, stream.state.last_seq) for consumer in consumers)
        )

    def record(self, stream: str, consumers: list[ConsumerReply]) -> None:
        """Record the consumers of a stream in this sample."""
        self._consumers[stream] = consumers


def _fingerprint(stream: StreamReply) -> tuple[object, ...]:
    """Equal in two samples: nothing was stored, deleted, expired or acknowledged away, and the leader stayed."""
    state, cluster = stream.state, stream.cluster
    leader = (cluster.leader, cluster.leader_since) if cluster else None
    held = (state.messages, state.first_seq, state.last_seq, state.num_deleted, state.consumer_count)
    return stream.created, held, leader


def _is_idle(consumer: ConsumerReply, last_seq: int) -> bool:
    """Whether it can only change when its stream, which ends at `last_seq`, does."""
    busy = consumer.num_pending or consumer.num_ack_pending or consumer.num_redelivered or consumer.paused
    ahead = consumer.delivered.stream_seq > last_seq
    return not busy and not ahead and (consumer.cluster is None or _is_sound(consumer.cluster))


def _is_sound(cluster: Cluster) -> bool:
    """Whether it has a leader, and every replica keeps up."""
    return bool(cluster.leader) and all(p.current and not p.offline and not p.lag for p in cluster.replicas)


_ENOUGH_DENIALS = 16
_MUCH_SLOWER = 4  # times the usual response time
_NEWEST_SHARE = 0.1  # weight of the newest response time in the usual one


class Slots:
    """At most `count` concurrent requests that are not much slower than others: a slow one does not block the others.

    Otherwise a few leaders that do not respond would take all slots for seconds each, one after another. If all
    requests are slow, the servers are busy, and more requests would increase the load: the patience is a multiple of
    the usual response time.
    """

    def __init__(self, count: int, patience_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._least_s = patience_s
        self._usual_s = patience_s

    @property
    def _patience_s(self) -> float:
        return max(self._least_s, _MUCH_SLOWER * self._usual_s)

    def responded(self, took_s: float) -> None:
        """Record the response time of a request."""
        self._usual_s += _NEWEST_SHARE * (took_s - self._usual_s)

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a slot; give it back on leaving, or when patience ends."""
        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(self._patience_s, self._free.release)
        try:
            yield
        finally:
            # Past its time the timer has given the slot back, or is about to.
            if asyncio.get_running_loop().time() < timer.when():
                timer.cancel()
                self._free.release()


class RoundStats:
    """The results of the requests of one round. Times are loop times, names those of streams."""

    def __init__(self, timeout_s: float, begun_at: float) -> None:
        self.denied: set[str] = set()
        self.late: set[str] = set()
        self.skipped: set[str] = set()
        self.words = ""
        self._timeout_s = timeout_s
        self._last_reply_at = begun_at
        self._any_reply = False
        self._hopeless = False

    def received(self, now: float) -> None:
        """Record a request with a reply."""
        self._last_reply_at = now
        self._any_reply = True

    def failed(self, stream: str, error: NoReplyError) -> None:
        """Record a request without a reply."""
        if error.why is Why.DENIED:
            self.denied.add(stream)
            self.words = error.words
        else:
            self.late.add(stream)
            self._hopeless = self._hopeless or error.why in (Why.LOST, Why.NO_INBOX)

    @property
    def is_forbidden(self) -> bool:
        """Whether many requests were denied and none got a reply, so that all others would be denied too."""
        return len(self.denied) >= _ENOUGH_DENIALS and not self._any_reply

    def is_in_vain(self, now: float) -> bool:
        """Whether to stop: the connection is lost, everything is denied, or no reply came for a timeout."""
        silent = bool(self.late) and now - self._last_reply_at > self._timeout_s
        return self._hopeless or self.is_forbidden or silent
