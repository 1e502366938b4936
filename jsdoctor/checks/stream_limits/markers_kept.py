"""JSD632: buckets in which most messages mark keys as deleted."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, shown, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import StoredMessages, StoredStream
from jsdoctor.model.wording import counted


@check("stream_limits.markers_kept")
def markers_kept(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge the share of markers, which stay until `max_age`, their own time to live, or until they are purged."""
    led = snapshots.last.led_by_key
    for read in stored.streams:
        stream = led.get((read.account, read.stream))
        if stream is None or not stream.is_key_value:
            continue
        if read.markers is None:
            yield unknown(
                read.subject, "an older version of jsdoctor read it and counted no markers", "capture it again"
            )
        elif (
            read.markers >= params.integer("many")
            and (share := read.markers / max(read.messages, 1)) >= params.number("share")
            and stream.config.max_age_ns <= 0
        ):
            yield _finding(read, share, stream, params)
        else:
            yield passed(read.subject)


def _finding(read: StoredStream, share: float, stream: Stream, params: Params) -> Finding:
    which = "" if read.whole else " (the newest; the others were not read)"
    return failed(
        read.subject,
        f"{read.markers:,} of {counted(read.messages, 'message')}{which} mark keys as deleted and have no end: the"
        " bucket grows with each key that was ever deleted",
        *shown(read, "markers", "messages"),
        stream.observed("config.max_age", stream.config.max_age_ns),
        measured=(share, params.number("share"), "ratio"),
    )
