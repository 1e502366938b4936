"""JSD604: work-queue and interest retention that does not fit the consumers: messages vanish, or stay for ever."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.claims import readers, reads_safely, stranded, unclaimed, uncovered_subjects
from jsdoctor.checks.stream_limits.limits import histories
from jsdoctor.model.finding import Confidence, Finding, Severity, passed, unknown
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.trend import StreamHistory, Trend


@check("stream_limits.retention_trap")
def retention_trap(snapshots: SnapshotSeries, trend: Trend | None) -> Iterator[Finding]:
    """Who removes a message: everybody interested (interest), or the one consumer that takes it (workqueue).

    The server keeps what somebody still needs and stores nothing that nobody needs (server: stream.go ackMsg,
    checkForInterest, processJetStreamMsg).
    """
    taken_by, seen_before = readers(snapshots.last), histories(trend)
    for stream in snapshots.last.led_streams():
        # The server makes and uses the streams of MQTT: without a device that wants a message, nobody misses it.
        if stream.config.retention == "limits" or stream.config.sealed or stream.is_mqtt:
            continue
        if not stream.consumers_seen:
            yield unknown(stream.subject, "its consumers were not all listed", "run again, with a larger --timeout")
            continue
        key = (stream.account, stream.name)
        others = taken_by.get(key, [])
        if others and not reads_safely(stream):
            yield _second_reader(stream, others)
        elif not stream.consumers and not others:
            yield _nobody(stream, seen_before.get(key))
        else:
            yield _leftovers(stream, seen_before.get(key))


def _second_reader(stream: Stream, others: list[str]) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=Severity.WARNING,
        message=(
            f"{', '.join(sorted(others))} reads this {stream.config.retention} stream as a mirror or source without "
            "acknowledging: what is removed while that link is down never arrives there, or stays here for ever"
        ),
        evidence=(stream.observed("config.retention", stream.config.retention),),
    )


def _nobody(stream: Stream, history: StreamHistory | None) -> Finding:
    seen = (
        stream.observed("state.consumer_count", stream.state.consumer_count),
        stream.observed("state.messages", stream.state.messages),
        stream.observed("state.last_seq", stream.state.last_seq),
    )
    if stream.config.retention == "workqueue":
        if stream.state.messages == 0:
            return passed(stream.subject)
        text = f"{stream.state.messages:,} messages wait in this work queue and no consumer exists to take them"
        return Finding(subject=stream.subject, severity=Severity.WARNING, message=text, evidence=seen)
    dropping = history is not None and history.last.state.last_seq > history.first.state.last_seq
    return Finding(
        subject=stream.subject,
        severity=None if dropping else Severity.WARNING,
        # A mirror or source in another domain or, before 2.14, in another account does not show.
        confidence=Confidence.MEDIUM,
        message=(
            "no consumer is interested in this interest stream: what is published is acknowledged and "
            + ("being dropped right now" if dropping else "dropped")
        ),
        evidence=seen,
    )


def _leftovers(stream: Stream, history: StreamHistory | None) -> Finding:
    count = unclaimed(stream) if history is None else stranded(history)
    if count is None:
        return unknown(stream.subject, "a consumer of this stream was not seen from its leader", "run again")
    if count and history is None:
        return unknown(
            stream.subject,
            "one reading cannot tell messages that stay from messages on their way out",
            "run with --samples 2 or more",
        )
    uncovered = uncovered_subjects(stream) if stream.config.retention == "workqueue" else ()
    if not count and not uncovered:
        return passed(stream.subject)
    ignored = f"no consumer takes {', '.join(uncovered)}"
    return Finding(
        subject=stream.subject,
        severity=None if count else Severity.WARNING,
        message=(
            f"{count:,} messages stay in this {stream.config.retention} stream and no consumer will get them: "
            + (ignored if uncovered else _cause(stream))
            if count
            else f"{ignored}: what is published there stays in this work queue for ever"
        ),
        measured=count or None,
        threshold=0 if count else None,
        unit="count" if count else None,
        evidence=(
            stream.observed("state.messages", stream.state.messages),
            *(c.observed("num_pending + num_ack_pending", c.num_pending + c.num_ack_pending) for c in stream.consumers),
        ),
    )


def _cause(stream: Stream) -> str:
    limited = sorted(c.name for c in stream.consumers if c.config.max_deliver > 0)
    if limited:
        return f"{', '.join(limited)} gave them up after max_deliver attempts, or no filter matches them"
    if all(c.config.filters for c in stream.consumers):
        return "no consumer's filter matches them"
    return "their acknowledgements were lost"
