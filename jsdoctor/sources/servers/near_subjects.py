"""Requests the subjects of streams: if a consumer's filter may never have matched (JSD429), if a stream that refuses
messages for full subjects may have some (JSD603), and of object stores (JSD633).

One request per stream, of `MAX_STREAMS` streams and as many object stores with at most `MAX_SUBJECTS` subjects. Of a
reply, only the subjects that miss a filter by one letter are kept, how many messages `>` in place of a last `*` would
match, how many subjects are full, and how many uploads and objects there are: all others may be names of customers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.near_subjects import Nearness, NearSubject, nearness, with_all_depths
from jsdoctor.model.stream_room import may_have_full_subjects
from jsdoctor.model.subjects import subject_contains
from jsdoctor.replies.decoding import ConsumerReply, ErrorReply, ReplyError, decode
from jsdoctor.replies.jsz import ListPage, read_consumers, read_streams
from jsdoctor.replies.near_subjects import BucketUploads, StoredFilter, StoredSubjects, StreamSubjects
from jsdoctor.sources.servers.ask import Asker, NoReplyError
from jsdoctor.sources.servers.collection_result import CollectionResult

MAX_STREAMS = 20
MAX_SUBJECTS = 10_000
_MAX_NEAR = 5


_ItemT = TypeVar("_ItemT")


class _Counts(msgspec.Struct, frozen=True):
    subjects: dict[str, int] | None = None


class _SubjectInfo(msgspec.Struct, frozen=True):
    state: _Counts = _Counts()
    error: ErrorReply | None = None


async def ask_near_subjects(asker: Asker, prefix: str, samples: Sequence[Sample], collection: CollectionResult) -> None:
    """Add an exchange on the streams of the last sample to `collection`; none if no stream needs it."""
    pages = _pages(samples[-1].exchanges, Endpoint.STREAM_LIST, read_streams)
    streams = {stream.config.name: stream for page in pages for stream in page.items}
    states = {name: stream.state for name, stream in streams.items()}
    filters: dict[str, set[str]] = defaultdict(set)
    for consumer in _newest_consumers(samples):
        if _in_doubt(consumer):
            filters[consumer.stream_name] |= set(consumer.config.filters)
    limits = {
        name: s.config.max_msgs_per_subject for name, s in streams.items() if may_have_full_subjects(s.config, s.state)
    }
    wanted = [name for name in sorted({*filters, *limits}) if name in states and states[name].messages]
    buckets = [name for name in sorted(states) if name.startswith("OBJ_") and states[name].messages]
    small = [name for name in wanted if states[name].num_subjects <= MAX_SUBJECTS][:MAX_STREAMS]
    small_buckets = [name for name in buckets if states[name].num_subjects <= MAX_SUBJECTS][:MAX_STREAMS]
    small = [*small, *(name for name in small_buckets if name not in small)]
    stream_subjects: list[StreamSubjects] = [
        StreamSubjects(name, too_many=states[name].num_subjects)
        for name in dict.fromkeys((*wanted, *buckets))
        if name not in small
    ]
    answer = None
    for name in small:
        subject = f"{prefix}.STREAM.INFO.{name}"
        try:
            reply = await asker.one(subject, b'{"subjects_filter":">"}')
            info = decode(reply.body, _SubjectInfo)
        except (NoReplyError, ReplyError):
            continue  # the rule reports these filters as not evaluated
        if info.error:
            continue
        answer, counts = reply, info.state.subjects or {}
        stored_filters = tuple(stored_filter(candidate, counts) for candidate in sorted(filters[name]))
        full = sum(number >= limits[name] for number in counts.values()) if name in limits else None
        bucket = bucket_uploads(counts) if name in small_buckets else None
        stream_subjects.append(StreamSubjects(name, stored_filters, full=full, bucket=bucket))
    if answer is not None:
        body = msgspec.json.encode(StoredSubjects(tuple(stream_subjects)))
        target = f"{prefix}.STREAM.INFO.*"
        collection.exchanges.append(
            Exchange(Access.ACCOUNT, Endpoint.STREAM_SUBJECTS, target, answer.asked_at, answer.round_trip_ns, body)
        )


def bucket_uploads(counts: Mapping[str, int]) -> BucketUploads:
    """The uploads and objects of a bucket, and the chunks of uploads without an object.

    Chunks are under `$O.BUCKET.C.UPLOAD`, the metadata of an object under `$O.BUCKET.M.NAME` (ADR-20).
    """
    kinds: dict[str, list[int]] = defaultdict(list)
    for subject, number in counts.items():
        root, _, kind, *rest = (*subject.split(".", 3), "", "", "")
        if root == "$O" and rest[0]:
            kinds[kind].append(number)
    uploads, objects = sorted(kinds["C"]), len(kinds["M"])
    return BucketUploads(len(uploads), objects, sum(uploads[: max(0, len(uploads) - objects)]))


def _newest_consumers(samples: Iterable[Sample]) -> Iterator[ConsumerReply]:
    """The consumers of the last sample that lists them: consumers of idle streams are not requested in every sample."""
    newest: dict[str, list[ConsumerReply]] = {}
    for sample in samples:
        listed: dict[str, list[ConsumerReply]] = defaultdict(list)
        for page in _pages(sample.exchanges, Endpoint.CONSUMER_LIST, read_consumers):
            for consumer in page.items:
                listed[consumer.stream_name].append(consumer)
        newest |= listed
    for consumers in newest.values():
        yield from consumers


def _in_doubt(consumer: ConsumerReply) -> bool:
    """Whether a filter of it may never have matched. With several filters, the counts do not show which one matched."""
    filters = consumer.config.filters
    return len(filters) > 1 or (bool(filters) and not consumer.num_pending and not consumer.delivered.consumer_seq)


def stored_filter(filter_: str, counts: Mapping[str, int]) -> StoredFilter:
    """The result kept for a filter: how many messages match, and a few subjects that nearly do."""
    matching = _count_matching(filter_, counts)
    near = [NearSubject(s, number, how) for s, number in counts.items() if (how := nearness(filter_, s))]
    if (wider := with_all_depths(filter_)) and (deeper := _count_matching(wider, counts) - matching):
        near.append(NearSubject(wider, deeper, Nearness.DEPTH))
    near.sort(key=lambda subject: (-subject.messages, subject.subject))
    return StoredFilter(filter_, matching, tuple(near[:_MAX_NEAR]))


def _count_matching(filter_: str, counts: Mapping[str, int]) -> int:
    return sum(number for subject, number in counts.items() if subject_contains(filter_, subject))


def _pages(
    exchanges: Iterable[Exchange], endpoint: Endpoint, read: Callable[[Exchange], ListPage[_ItemT]]
) -> Iterator[ListPage[_ItemT]]:
    for exchange in exchanges:
        if exchange.access is Access.ACCOUNT and exchange.endpoint is endpoint:
            try:
                yield read(exchange)
            except ReplyError:
                continue
