"""Subjects that miss a filter by one letter: from an exchange that jsdoctor makes itself to evidence."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.model.near_subjects import FilterSubjects, FullSubjects, NearSubject, NearSubjects, UploadSubjects
from jsdoctor.replies.decoding import ReplyError, decode
from jsdoctor.replies.missing_replies import unreadable


class StoredFilter(msgspec.Struct, frozen=True):
    """A filter, the number of stored messages that match it, and the subjects that nearly do."""

    filter: str
    matching: int = 0
    near: tuple[NearSubject, ...] = ()


class BucketUploads(msgspec.Struct, frozen=True):
    """What an object store holds, in numbers (`model.near_subjects.UploadSubjects`)."""

    uploads: int
    objects: int
    spare_chunks: int = 0


class StreamSubjects(msgspec.Struct, frozen=True):
    """A stream's filters in doubt. `too_many`: number of its subjects, if these were too many to request.

    `full`: number of its subjects that have as many messages as it allows for each; None if it is not in doubt.
    `bucket`: of an object store.
    """

    stream: str
    filters: tuple[StoredFilter, ...] = ()
    too_many: int = 0
    full: int | None = None
    bucket: BucketUploads | None = None


class StoredSubjects(msgspec.Struct, frozen=True):
    """The body of a STREAM_SUBJECTS exchange."""

    streams: tuple[StreamSubjects, ...]


def near_subjects(exchanges: Iterable[Exchange], account: str) -> tuple[NearSubjects | None, list[Gap]]:
    """The subjects requested in a run, and a gap for what cannot be read. `account`: that of the streams."""
    gaps: list[Gap] = []
    filters: list[FilterSubjects] = []
    too_many: list[tuple[str, str, int]] = []
    full: list[FullSubjects] = []
    uploads: list[UploadSubjects] = []
    asked = False
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.STREAM_SUBJECTS:
            continue
        try:
            streams = decode(exchange.body, StoredSubjects).streams
        except ReplyError as error:
            gaps.append(unreadable(exchange, error))
            continue
        asked = True
        for stream in streams:
            filters += [FilterSubjects(account, stream.stream, f.filter, f.matching, f.near) for f in stream.filters]
            too_many += [(account, stream.stream, stream.too_many)] if stream.too_many else []
            full += [FullSubjects(account, stream.stream, stream.full)] if stream.full is not None else []
            if bucket := stream.bucket:
                counts = (bucket.uploads, bucket.objects, bucket.spare_chunks)
                uploads.append(UploadSubjects(account, stream.stream, *counts))
    subjects = NearSubjects(tuple(filters), tuple(too_many), tuple(full), tuple(uploads)) if asked else None
    return subjects, gaps
