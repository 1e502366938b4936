"""JSD203: a stream that was recreated under its name: clients remember wrong sequences of it.

Over hours: a stream that is not the one of an earlier bundle.
From logs: streams restored through the API, or deleted and created according to recorded advisories.
From stored messages: which of them a restore brought in, and where sequences are given out again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import BY_HAND, Confidence, Finding, Severity, failed, passed, shown, suspected
from jsdoctor.model.log import LogEvidence, Occurrence, exemplars_of
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream, same_incarnation
from jsdoctor.model.stored import StoredMessages, StoredStream, moment
from jsdoctor.model.trend import History, Trend
from jsdoctor.model.wording import counted, span


@check("sequence_mismatch.stream_recreated", compares_samples=True)
def stream_recreated(
    snapshots: SnapshotSeries, trend: Trend | None, stored: StoredMessages | None, params: Params
) -> Iterator[Finding]:
    """Compare streams with earlier samples: another `created` and other messages mean another stream (addStream).


    The same messages with another date do not: after a restore on 2.10 and 2.12 replicas disagree on the date.
    `stream_restored_stored` reports more of streams with messages older than themselves, if these were read.
    """
    known = {(stream.account, stream.stream) for stream in stored.streams if stream.older.count} if stored else set()
    before = Incarnations(trend.snapshots[:-1] if trend else ())
    for stream in snapshots.last.led_streams():
        other = before.other_than(stream)
        if other is not None:
            # A job may have created it for the duration of its work.
            young = other.created is not None and _ns_between(other.created, other.at) < params.integer("settled")
            yield _short_lived(other, stream) if young else recreated(other, stream, "between the samples")
        elif (older_ns := _older_than_stream_ns(stream, params)) > 0:
            if (stream.account, stream.name) not in known:
                yield _restored_finding(stream, older_ns)
        else:
            yield passed(stream.subject)


class Incarnations:
    """The streams of earlier samples, by incarnation."""

    def __init__(self, samples: Sequence[ClusterSnapshot]) -> None:
        self._samples = [sample.led_by_key for sample in samples]

    def other_than(self, stream: Stream) -> Stream | None:
        """The newest reading of another stream under that name."""
        readings = [sampled for sample in self._samples if (sampled := sample.get((stream.account, stream.name)))]
        return next((reading for reading in reversed(readings) if not same_incarnation(reading, stream)), None)


def _older_than_stream_ns(stream: Stream, params: Params) -> int:
    """By how much the oldest message or consumer is older than its stream; 0 if the stream itself is old.

    0 also for mirrors, which keep the times of their origin, and for less than clocks may differ.
    """
    if (
        stream.created is None
        or stream.config.mirror
        or _ns_between(stream.created, stream.at) > params.integer("recent")
    ):
        return 0
    dates = [consumer.created for consumer in stream.consumers if consumer.created]
    dates += [stream.state.first_ts] if stream.state.first_ts and stream.state.messages else []
    if not dates:
        return 0
    older_ns = _ns_between(min(dates), stream.created)
    return older_ns if older_ns >= params.integer("clock_error") else 0


def _short_lived(before: Stream, now: Stream) -> Finding:
    age = span(_ns_between(before.created, before.at)) if before.created else "some time"
    return suspected(
        now.subject,
        f"it was deleted and created again between the samples, when it was {age} old: jobs do so with their streams",
        "ask its owner; clients that remember sequences of the stream before it get nothing or errors",
    )


def _ns_between(since: datetime, until: datetime) -> int:
    return int((until - since).total_seconds() * 1e9)


def recreated(before: Stream, now: Stream, when: str) -> Finding:
    """The finding for a stream that was deleted and created again."""
    return failed(
        now.subject,
        f"the stream was deleted and recreated {when}: it ended at sequence "
        f"{before.state.last_seq:,} with {counted(len(before.consumers), 'consumer')}, now at "
        f"{now.state.last_seq:,} with {len(now.consumers)}; clients that remember sequences or wait on a consumer "
        "of before get nothing or errors",
        *shown(before, "created", "state.last_seq"),
        *shown(now, "created", "state.last_seq"),
        measured=(now.state.last_seq, before.state.last_seq, "count"),
        between=(before.at, now.at),
    )


def _restored_finding(stream: Stream, older_ns: int) -> Finding:
    age = span(_ns_between(stream.created, stream.at)) if stream.created else "some time"
    return failed(
        stream.subject,
        f"the stream was made {age} ago and holds what is {span(older_ns)} older than itself: it was restored from "
        "a backup, and clients that went beyond the backup remember sequences that are given out again; or it was "
        "deleted and created again, and the server kept what it held; or it was a mirror; or a server up to"
        " 2.12 was restarted, the stream was changed, and the server was restarted again",
        *shown(stream, "created", "state.first_ts", "state.last_seq"),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
    )


@check("sequence_mismatch.stream_recreated_history")
def stream_recreated_history(history: History) -> Iterator[Finding]:
    """Findings of `stream_recreated` with earlier bundles as samples."""
    before = Incarnations(history.snapshots[:-1])
    for stream in history.now.led_streams():
        other = before.other_than(stream)
        yield recreated(other, stream, f"after {other.at:%Y-%m-%d %H:%M}Z") if other else passed(stream.subject)


@check("sequence_mismatch.stream_recreated_logged", lines_of="servers")
def stream_recreated_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Find streams that advisories show as deleted and then created, and restores from backups."""
    by_stream: dict[tuple[str, str, bool], dict[str, Occurrence]] = defaultdict(dict)
    for occurrence in logs.occurrences("advisory-stream-action"):
        actions = by_stream[occurrence.value("stream"), occurrence.logged_by, occurrence.zoned]
        actions[occurrence.value("kind")] = occurrence
    for actions in by_stream.values():
        deleted, created = actions.get("delete"), actions.get("create")
        if not (deleted and created and deleted.first and created.last) or created.last < deleted.first:
            continue
        yield failed(
            deleted.subject,
            f"the stream was deleted and created again{when(deleted.first, created.last)}, as advisories show:"
            " sequences began again, its consumers went with it, and clients that remember either get errors or"
            " nothing",
            *exemplars_of((deleted, created)),
            between=(zoned(deleted.first), zoned(created.last)),
        )
    failures = bursts(logs, "stream-restore-failed", "stream-restore-not-activated", "stream-restore-error", calm=False)
    for burst in failures:
        text = f"a restore from a backup failed, {burst.story}: the stream may be missing or incomplete"
        yield _restored_logged(burst, text, None)
    for burst in bursts(logs, "stream-restore-started", calm=False):
        if burst.subject not in {failure.subject for failure in failures}:
            effect = "sequences go on where the backup ends; clients that were further expect more than there is"
            yield _restored_logged(burst, f"a restore from a backup was {burst.story}: {effect}", Severity.INFO)


def _restored_logged(burst: Burst, text: str, severity: Severity | None) -> Finding:
    remedy = {} if burst.subject.kind == "stream" else BY_HAND
    return finding_of(burst, text, severity, measured=(None, None, None), remedy=remedy)


@check("sequence_mismatch.stream_restored_stored")
def stream_restored_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Find messages older than their stream: they came from a backup. Up to 2.14 a restore keeps the stream's date."""
    led = snapshots.last.led_by_key
    for stored_stream in stored.streams:
        stream = led.get((stored_stream.account, stored_stream.stream))
        if stream is None or stream.created is None or stream.config.mirror:
            continue
        age_ns = int((stream.at - stream.created).total_seconds() * 1e9)
        older_ns = int((stream.created - moment(stored_stream.first_ns)).total_seconds() * 1e9)
        is_older = stored_stream.older.count and older_ns >= params.integer("clock_error")
        if is_older and age_ns <= params.integer("recent"):
            yield _finding(stored_stream, stream, age_ns)
        else:
            yield passed(stored_stream.subject)


def _finding(stored: StoredStream, stream: Stream, age_ns: int) -> Finding:
    later = stored.last_seq - stored.older.last_seq
    return failed(
        stored.subject,
        f"{counted(stored.older.count, 'message')} up to sequence {stored.older.last_seq:,} are older than the "
        f"stream, which was made {span(age_ns)} ago: a restore brought them in; the backup ends at "
        f"{moment(stored.older.last_ns):%Y-%m-%d %H:%M:%S}Z, and sequences from {stored.older.last_seq + 1:,} on "
        + (f"were given out again, {later:,} of them so far" if later else "are given out again"),
        stream.observed("created", stream.created),
        stored.observed(f"message {stored.older.last_seq} time", moment(stored.older.last_ns)),
        stream.observed("state.last_seq", stream.state.last_seq),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        measured=(stored.older.last_seq, None, "count"),
    )
