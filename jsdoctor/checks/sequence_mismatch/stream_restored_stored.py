"""JSD203, from stored messages: which of them a restore brought in, and where sequences are given out again."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import StoredMessages, StoredStream, moment
from jsdoctor.model.wording import counted, span


@check("sequence_mismatch.stream_restored_stored")
def stream_restored_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Messages older than their stream came from a backup; servers before 2.15 keep the date of creation in it."""
    led = {(stream.account, stream.name): stream for stream in snapshots.last.led_streams()}
    for one in stored.streams:
        stream = led.get((one.account, one.stream))
        if stream is None or stream.created is None or stream.config.mirror:
            continue
        age_ns = int((stream.at - stream.created).total_seconds() * 1e9)
        older_ns = int((stream.created - moment(one.first_ns)).total_seconds() * 1e9) if one.older.count else 0
        if older_ns >= params.integer("clock_error") and age_ns <= params.integer("recent"):
            yield _finding(one, stream, age_ns)
        else:
            yield passed(one.subject)


def _finding(one: StoredStream, stream: Stream, age_ns: int) -> Finding:
    later = one.last_seq - one.older.last_seq
    return Finding(
        subject=one.subject,
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        message=(
            f"{counted(one.older.count, 'message')} up to sequence {one.older.last_seq:,} are older than the stream, "
            f"which was made {span(age_ns)} ago: a restore brought them in; the backup ends at "
            f"{moment(one.older.last_ns):%Y-%m-%d %H:%M:%S}Z, and sequences from {one.older.last_seq + 1:,} on "
            + (f"were given out again, {later:,} of them so far" if later else "are given out again")
        ),
        measured=one.older.last_seq,
        unit="count",
        evidence=(
            stream.observed("created", stream.created),
            one.observed(f"message {one.older.last_seq} time", moment(one.older.last_ns)),
            stream.observed("state.last_seq", stream.state.last_seq),
        ),
    )
