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
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from jsdoctor.collect.live.ask import Asker, NoReplyError, TimedReply, Why
from jsdoctor.collect.live.collection_result import CollectionResult, Progress, no_progress
from jsdoctor.collect.live.decoding import decoded
from jsdoctor.collect.live.pacing import RoundStats, Slots
from jsdoctor.collect.live.rest import Rest
from jsdoctor.collect.live.torn import MAX_TORN, SETTLE_S
from jsdoctor.collect.live.unanswered import no_jetstream, not_allowed, not_asked, unanswered
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.parse.lists import ListPage, read_consumers, read_streams
from jsdoctor.parse.replies import ConsumerReply, ListHead, ReplyError, StreamReply, user_of

USER_INFO = "$SYS.REQ.USER.INFO"
PARALLEL = 16
_PATIENCE_S = 0.5
_MAX_PAGES = 1_000
"""Maximum number of pages of one list; a page has 256 entries. Entries beyond become a gap, as a page has the total."""


_ItemT = TypeVar("_ItemT")


class AccountSource:
    """Queries the JetStream API under `prefix`: `$JS.API`, or that of another domain or account."""

    def __init__(self, asker: Asker, prefix: str, plan: CollectionPlan) -> None:
        self.exhausted = False
        self._asker = asker
        self._prefix = prefix
        self._plan = plan
        self._slots = Slots(PARALLEL, _PATIENCE_S)
        self._account = ""
        self._first = True
        self._rest = Rest()
        self._mute: set[str] = set()
        self._offsets: dict[str, list[int]] = {}
        self._failures: list[tuple[NoReplyError, str, str]] = []
        self._torn: set[tuple[str, str]] = set()

    async def sample(self, progress: Progress = no_progress) -> CollectionResult:
        """Streams and consumers; in the first sample also the name of the account and the use of its limits.

        From the second sample on, consumers are requested only if they can have changed (`rest`).
        """
        collection = CollectionResult(begun_at=asyncio.get_running_loop().time())
        asking = []
        self._torn = set()
        if self._first:
            asking.append(self._ask_user(collection))
            if self._plan.accounts:
                asking.append(self._ask_usage(collection))
        if self._plan.assets:
            asking.append(self._ask_assets(collection, progress))
        self._first = False
        await asyncio.gather(*asking)
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
        of_streams, of_consumers = await asyncio.gather(
            asyncio.gather(*(self._ask_again(collection, Endpoint.STREAM_INFO_AGAIN, stream) for stream in streams)),
            asyncio.gather(*(self._ask_again(collection, Endpoint.CONSUMER_INFO_AGAIN, name) for name in names)),
        )
        if self._plan.consumers:
            # A stream without a leader does not respond for its consumers either, and would cost another timeout.
            zips = {stream for stream, why in zip(streams, of_streams, strict=True) if why is not Why.LATE}
            denied = {stream for (stream, _), why in zip(consumers, of_consumers, strict=False) if why is Why.DENIED}
            await asyncio.gather(*(self._ask_consumers_again(collection, stream) for stream in sorted(zips | denied)))
        return collection

    async def _ask_again(self, collection: CollectionResult, endpoint: Endpoint, name: str) -> Why | None:
        """The reason if there was no reply: the asset then stays as the sample has it."""
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
                    reply = await self._asker.one(subject, _from(offset))
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
            self.exhausted = True
            return
        collection.begun_at = asyncio.get_running_loop().time()
        with_consumers = {stream.config.name for stream in streams if stream.state.consumer_count} - self._mute
        at_rest = self._rest.of(streams) & with_consumers
        if at_rest and self._plan.consumers:
            collection.exchanges.append(_at_rest(at_rest))
        if asked := with_consumers - at_rest:
            progress(f"requesting the consumers of {len(asked)} streams")
            await self._ask_consumers(collection, asked)

    async def _ask_streams(self, collection: CollectionResult) -> list[StreamReply] | None:
        """Each stream whose leader responds; None if the list itself cannot be collected."""
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
        if pages is None or pages[0].head.error:
            return None
        silent = set().union(*(page.unresponsive for page in pages))
        self._torn |= {(name, "") for page in pages for name in page.head.missing or ()}
        streams = [stream for page in pages for stream in page.items]
        return [stream for stream in streams if stream.config.name and stream.config.name not in silent]

    async def _ask(self, subject: str, offset: int) -> TimedReply:
        """One page. Raises NoReplyError."""
        reply = await self._asker.one(subject, _from(offset), again=True)
        self._slots.answered(reply.round_trip_ns / 1e9)
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
        self._mute |= denied | skipped | tally.late

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
        self._rest.seen(stream, [c for page in pages or () for c in page.items])

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


def _at_rest(streams: Iterable[str]) -> Exchange:
    body = msgspec.json.encode(sorted(streams))
    return Exchange(Access.ACCOUNT, Endpoint.CONSUMERS_AT_REST, "", datetime.now(UTC), 0, body)


def _from(offset: int) -> bytes:
    return msgspec.json.encode({"offset": offset})
