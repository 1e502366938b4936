"""JSD309: a stream that clients publish to and that deduplicates nothing."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.windows import comfortable_window_s, ids_counted, is_published_to
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages


@check("dedupe_window.dedupe_off")
def dedupe_off(snapshots: SnapshotSeries, stored: StoredMessages | None) -> Iterator[Finding]:
    """Since 2.14 a stream with sources gets no window unless it asks for one (server: stream.go checkStreamCfg).

    Whether publishers send ids at all, `dedupe_off_stored` knows where they were counted.
    """
    known = ids_counted(stored)
    for stream in snapshots.last.led_streams():
        if not is_published_to(stream) or (stream.account, stream.name) in known:
            continue
        if stream.config.duplicate_window_ns > 0:
            yield passed(stream.subject)
            continue
        yield Finding(
            subject=stream.subject,
            message=(
                "the stream has no duplicate window: a publish to its subjects that is tried again is stored twice, "
                "with or without a message id"
            ),
            evidence=(
                stream.observed("config.duplicate_window", 0),
                stream.observed("config.subjects", list(stream.config.subjects)),
                stream.observed("config.sources", [source.name for source in stream.config.sources]),
            ),
            remedy={
                "duplicate_window_s": comfortable_window_s(0, stream),
                "no_ack": stream.config.no_ack,
            },
        )
