"""JSD305: messages that are stored twice under one id: how far apart, and which window would have caught them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import (
    ScannedStream,
    catching_window_ns,
    examples,
    observed,
    of_those_read,
    scanned,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.wording import counted, span


@check("dedupe_window.duplicates_stored")
def duplicates_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Count messages with a repeated id, and name a window that catches them. JSD304 judges those of other content."""
    for unread in (stream for stream in stored.streams if not stream.ids_read):
        yield unknown(unread.subject, "an older version of jsdoctor read it and compared no ids", "capture it again")
    for scanned_stream in scanned(stored, snapshots):
        if not scanned_stream.stored.repeats.distances:
            yield passed(scanned_stream.stored.subject)
        else:
            yield _finding(scanned_stream, params)


def _finding(stream: ScannedStream, params: Params) -> Finding:
    stored, repeats = stream.stored, stream.stored.repeats
    window_ns, caught = catching_window_ns(stream, params.integer("longest_retry"))
    apart = span(repeats.distances.smallest)
    if len(repeats.distances) > 1:
        apart = f"{apart} to {span(repeats.distances.largest)}"
    beyond = len(repeats.distances) - caught
    late_text = f"; {beyond:,} came later than that" if beyond else ""
    few = len(repeats.distances) < params.integer("error_count")
    return failed(
        stored.subject,
        f"{of_those_read(stored)} have an id that an earlier message has, {counted(repeats.ids, 'id')} in all, "
        f"{apart} apart: {examples(repeats.kept)}; a duplicate window of {span(window_ns)} would have caught "
        f"{caught:,} of them{late_text}" + ("" if stored.whole else "; older messages were not read"),
        stored.observed("repeated ids", repeats.ids),
        stored.observed("distances, shortest and longest", [repeats.distances.smallest, repeats.distances.largest]),
        stream.stream.observed("config.duplicate_window", stream.stream.config.duplicate_window_ns),
        *observed(stored, repeats.kept),
        severity=None if few else Severity.ERROR,
        measured=(repeats.count - repeats.differing_count, 0, "count"),
        remedy={"sequences": tuple(seq for r in repeats.kept[:1] for seq in (r.before_seq, r.stream_seq))},
    )
