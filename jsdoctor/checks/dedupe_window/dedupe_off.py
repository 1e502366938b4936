"""JSD309: a stream that clients publish to and that deduplicates nothing.

From stored messages: ids that publishers send to a stream which does not check them.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import (
    ScannedStream,
    comfortable_window_s,
    ids_counted,
    is_published_to,
    observed,
    scanned,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.wording import counted


@check("dedupe_window.dedupe_off")
def dedupe_off(snapshots: SnapshotSeries, stored: StoredMessages | None) -> Iterator[Finding]:
    """Find streams without a window; since 2.14 one with sources has none unless it sets it (stream.go checkStreamCfg).

    `dedupe_off_stored` judges the streams where the ids of stored messages were counted.
    """
    known = ids_counted(stored)
    for stream in snapshots.last.led_streams():
        if not is_published_to(stream) or (stream.account, stream.name) in known:
            continue
        if stream.config.duplicate_window_ns > 0:
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            "the stream has no duplicate window: a publish to its subjects that is tried again is stored twice, "
            "with or without a message id",
            stream.observed("config.duplicate_window", 0),
            stream.observed("config.subjects", list(stream.config.subjects)),
            stream.observed("config.sources", [source.name for source in stream.config.sources]),
            remedy={"duplicate_window_s": comfortable_window_s(0, stream), "no_ack": stream.config.no_ack},
        )


@check("dedupe_window.dedupe_off_stored")
def dedupe_off_stored(stored: StoredMessages, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Find stored ids in streams without a window, where they have no effect (stream.go processJetStreamMsg)."""
    for stream in scanned(stored, snapshots):
        config = stream.stream.config
        if not is_published_to(stream.stream):
            continue
        if config.duplicate_window_ns > 0 or not stream.stored.with_id:
            yield passed(stream.stored.subject)
        else:
            yield _finding(stream)


def _finding(stream: ScannedStream) -> Finding:
    stored, repeats = stream.stored, stream.stored.repeats
    again = f", and {counted(repeats.count, 'message')} of them came again and are stored twice"
    return failed(
        stored.subject,
        f"{stored.with_id:,} of {counted(stored.messages, 'message')} have an id, but the stream has no duplicate "
        f"window and does not look at it{again if repeats.count else ''}",
        stream.stream.observed("config.duplicate_window", 0),
        stored.observed("messages with an id", stored.with_id),
        *observed(stored, repeats.kept),
        severity=Severity.ERROR if repeats.count else None,
        measured=(stored.with_id, 0, "count"),
        remedy={"duplicate_window_s": comfortable_window_s(0, stream.stream), "no_ack": stream.stream.config.no_ack},
    )
