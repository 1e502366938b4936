"""JSD633: an object store with more uploads than objects: chunks that no object refers to."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, failed, passed, shown, suspected, unknown
from jsdoctor.model.near_subjects import NearSubjects, UploadSubjects
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span


@check("stream_limits.uploads_cut_off")
def uploads_cut_off(snapshots: SnapshotSeries, subjects: NearSubjects, params: Params) -> Iterator[Finding]:
    """Compare the numbers of uploads and objects, by subjects: chunks are stored before their object (ADR-20).

    Each upload and each object has its own subject; a deleted object keeps it and has no chunks.
    """
    for stream in snapshots.last.led_streams():
        if not stream.is_object_store or not stream.state.messages:
            continue
        bucket = subjects.uploads_of(*stream.key)
        if bucket is None:
            number = subjects.number_of(*stream.key) or stream.state.num_subjects
            reason = (
                f"its {counted(number, 'subject')} were not requested: they are too many, or those of other buckets"
            )
            yield suspected(stream.subject, reason, "compare with: nats object ls BUCKET")
        elif bucket.uploads <= bucket.objects:
            yield passed(stream.subject)
        else:
            yield _judged(stream, bucket, params.integer("settle"))


def _judged(stream: Stream, bucket: UploadSubjects, settle_ns: int) -> Finding:
    surplus, last = bucket.uploads - bucket.objects, stream.state.last_ts
    quiet_ns = None if last is None else int((stream.at - last).total_seconds() * 1e9)
    if quiet_ns is None or quiet_ns < settle_ns:
        since = "at an unknown time" if quiet_ns is None else f"{span(quiet_ns)} ago"
        return unknown(
            stream.subject,
            f"it has {counted(surplus, 'upload')} more than objects, and got its last message {since}: uploads may be"
            " under way",
            f"run again when nothing was stored for {span(settle_ns)}",
        )
    share = stream.state.bytes * bucket.spare_chunks // stream.state.messages
    return failed(
        stream.subject,
        f"{counted(surplus, 'upload')} at least with {counted(bucket.spare_chunks, 'chunk')}, about {share:,} bytes,"
        f" belong to no object: it has {counted(bucket.uploads, 'upload')} and {counted(bucket.objects, 'object')},"
        " and nobody can read what an upload that was cut off has left",
        stream.observed("state.subjects[$O.*.C.>]", bucket.uploads),
        stream.observed("state.subjects[$O.*.M.>]", bucket.objects),
        *shown(stream, "state.bytes", "state.last_ts"),
        confidence=Confidence.MEDIUM,
        measured=(surplus, 0, "count"),
    )
