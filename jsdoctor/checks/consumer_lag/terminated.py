"""JSD430: messages that clients terminated, as a stream of advisories recorded."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.max_deliver_exhausted import reader_of_advisories
from jsdoctor.checks.registry import check
from jsdoctor.model.advisories import AdvisoryKind, RecordedAdvisories
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.stored import AdvisoryStreams, StoredStream, moment
from jsdoctor.model.wording import counted, listed

_SHOWN = 10


@check("consumer_lag.terminated")
def terminated(advisories: AdvisoryStreams, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """One finding for each consumer that still exists; an info if a consumer reads the advisories."""
    led = {
        (stream.name, consumer.name, stream.account): (stream, consumer)
        for stream, consumer in snapshots.last.led_consumers()
    }
    for read in advisories.streams:
        found = False
        for advisory in read.recorded(AdvisoryKind.TERMINATED):
            if known := led.get((advisory.stream, advisory.consumer, read.account)):
                found = True
                stream, consumer = known
                reader = reader_of_advisories(snapshots.last, stream, consumer, "MSG_TERMINATED")
                yield _finding(read, advisory, stream, reader, params.integer("warn"))
        if not found:
            yield passed(read.subject)


def _finding(
    read: StoredStream, advisory: RecordedAdvisories, stream: Stream, reader: Consumer | None, warn: int
) -> Finding:
    subject = Subject(kind="consumer", name=advisory.consumer, account=read.account, stream=advisory.stream)
    removed = stream.config.retention != "limits"
    effect = (
        "were removed from the stream" if removed else "stay in the stream, and this consumer never gets them again"
    )
    who = f"; {reader.name} reads the advisories from {reader.stream}" if reader else ""
    why = f", the last one for '{advisory.reason}'" if advisory.reason else ""
    return failed(
        subject,
        f"clients terminated {counted(advisory.count, 'message')} in a day, as stream {read.stream} recorded{why}: they"
        f" {effect} ({listed((f'{seq:,}' for seq in advisory.sequences[-_SHOWN:]), 0)}){who}",
        read.observed(advisory.kind, advisory.count),
        severity=None if removed and not reader and advisory.count >= warn else Severity.INFO,
        measured=(advisory.count, warn, "count"),
        between=(moment(advisory.first_ns), moment(advisory.last_ns)),
    )
