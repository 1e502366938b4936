"""JSD604: work-queue and interest retention that does not fit the consumers: messages are lost, or never removed.

From manifests: work-queue and interest retention that does not fit the declared consumers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Declarations, Deployed
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import (
    histories,
    is_read_with_acks,
    readers,
    scaled_ns_ago,
    stranded,
    unclaimed,
    uncovered_subjects,
)
from jsdoctor.model.finding import Confidence, Finding, Impact, Severity, failed, passed, shown, suspected, unknown
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.subjects import overlaps_any
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import span

_SCHEDULES = "no consumer takes some of its messages or subjects, and schedules stay in a stream without a consumer"
_DROPPED = "what is published is acknowledged and dropped"
_LOST = "every consumer is past them, as where acknowledgements are lost"


@check("stream_limits.retention_trap")
def retention_trap(
    snapshots: SnapshotSeries, trend: Trend | None, groups: RaftGroups | None, params: Params
) -> Iterator[Finding]:
    """Find messages of work queues and interest streams that no consumer will remove, and streams without consumers.

    A message is removed by acks of all interested consumers (interest), or of the one that takes it (workqueue); an
    interest stream drops what no consumer is interested in (server: stream.go ackMsg, processJetStreamMsg).
    """
    taken_by, seen_before = readers(snapshots.last), histories(trend)
    for stream in snapshots.last.led_streams():
        # The server creates and uses the streams of MQTT: without a device that subscribes, no message is missed.
        if stream.config.retention == "limits" or stream.config.sealed or stream.is_mqtt:
            continue
        if not stream.consumers_seen:
            yield unknown(stream.subject, "its consumers were not all listed", "run again, with a larger --timeout")
            continue
        key = (stream.account, stream.name)
        others = taken_by.get(stream.key_in_domain, [])
        if others and not is_read_with_acks(stream):
            yield failed(
                stream.subject,
                f"{', '.join(sorted(others))} reads this {stream.config.retention} stream as a mirror or source without"
                " acknowledging: what is removed while that link is down never arrives there, or stays here forever",
                stream.observed("config.retention", stream.config.retention),
                severity=Severity.WARNING,
            )
        elif not stream.consumers and not others:
            yield _no_consumer_finding(stream, seen_before.get(key))
        else:
            history = seen_before.get(key)
            yield _unclaimed_finding(stream, history, scaled_ns_ago(stream, history, groups), params.integer("settle"))


def _no_consumer_finding(stream: Stream, history: StreamHistory | None) -> Finding:
    seen = tuple(shown(stream, "state.consumer_count", "state.messages", "state.last_seq"))
    if stream.config.retention == "workqueue":
        if stream.state.messages == 0:
            return passed(stream.subject)
        text = f"{stream.state.messages:,} messages wait in this work queue and no consumer exists to take them"
        return failed(stream.subject, text, *seen, severity=Severity.WARNING)
    first, last = (history.first.state, history.last.state) if history else (stream.state, stream.state)
    if last.messages > first.messages:  # something keeps them that does not show: see below
        return passed(stream.subject)
    dropping = last.last_seq > first.last_seq
    # A mirror or source in another domain or, before 2.14, in another account does not show.
    return failed(
        stream.subject,
        "no consumer is interested in this interest stream: what is published is acknowledged and "
        + ("being dropped right now" if dropping else "dropped"),
        *seen,
        severity=None if dropping else Severity.WARNING if last.last_seq else Severity.INFO,
        impact=Impact.DATA_LOST,
        confidence=Confidence.MEDIUM,
    )


def _unclaimed_finding(stream: Stream, history: StreamHistory | None, scaled_ns: int | None, settle_ns: int) -> Finding:
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
    if stream.config.allow_msg_schedules:
        return suspected(stream.subject, _SCHEDULES, f"nats stream subjects {stream.name}")
    if count and history and not uncovered:
        if _is_checked_soon(stream, history, settle_ns):
            why = "although every consumer has acknowledged them: the leader removes such messages within 90 seconds"
            return _not_removed_yet(stream, count, why, settle_ns)
        if scaled_ns is not None and scaled_ns < settle_ns:
            when = f"{span(scaled_ns)} ago" if scaled_ns else "between the samples"
            why = f"that no consumer will get: it was scaled {when}, which loses acknowledgements"
            return _not_removed_yet(stream, count, why, settle_ns)
    ignored = f"no consumer takes {', '.join(uncovered)}"
    return failed(
        stream.subject,
        (
            f"{count:,} messages reach no consumer any more: " + (ignored if uncovered else _cause(stream))
            if count
            else f"{ignored}: what is published there stays in this work queue forever"
        ),
        stream.observed("state.messages", stream.state.messages),
        *(c.observed("num_pending + num_ack_pending", c.num_pending + c.num_ack_pending) for c in stream.consumers),
        *(c.observed("num_redelivered", c.num_redelivered) for c in _with_max_deliver(stream)),
        severity=None if count else Severity.WARNING,
        measured=(count or None, 0, "count"),
        advice=_FIX_WORKERS
        if count and not uncovered and any(c.num_redelivered for c in _with_max_deliver(stream))
        else "",
    )


_FIX_WORKERS = "Correct the workers, then publish these messages again or delete them."


def _is_checked_soon(stream: Stream, history: StreamHistory, settle_ns: int) -> bool:
    """Whether the leader may still remove messages that lost acknowledgements left behind.

    It searches for them every 30 to 90 seconds, in replicated streams only (server: checkInterestStateT).
    """
    if stream.config.num_replicas == 1 or _explanation(stream) is not None:
        return False
    active = [pair.last_active for consumer in stream.consumers for pair in (consumer.delivered, consumer.ack_floor)]
    known = [moment for moment in (stream.state.last_ts, *active) if moment]
    quiet_s = (stream.at - max(known)).total_seconds() if known else 0.0
    return max(quiet_s, history.elapsed_s) * 1e9 < settle_ns


def _not_removed_yet(stream: Stream, count: int, why: str, settle_ns: int) -> Finding:
    return failed(
        stream.subject,
        f"{count:,} messages are in this {stream.config.retention} stream {why}; it is a fault if they stay longer",
        stream.observed("state.messages", stream.state.messages),
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        measured=(count, 0, "count"),
        how_to_get=f"look again after {span(settle_ns)}, or run with --samples 2 --interval {settle_ns // 10**9}s",
    )


def _with_max_deliver(stream: Stream) -> list[Consumer]:
    return sorted((c for c in stream.consumers if c.config.max_deliver > 0), key=lambda consumer: consumer.name)


def _explanation(stream: Stream) -> str | None:
    """The limit of deliveries or the filters that account for the messages; None if nothing but lost acks does."""
    # With a limit of one delivery none is counted as redelivered.
    limited = [
        c
        for c in _with_max_deliver(stream)
        if c.num_redelivered or (c.config.max_deliver == 1 and c.delivered.consumer_seq)
    ]
    unmatched = bool(stream.consumers) and all(c.config.filters for c in stream.consumers)
    if not limited:
        return "no consumer's filter matches them" if unmatched else None
    counted = [c for c in limited if c.num_redelivered > 0]
    named = ", ".join(f"{c.name} (max_deliver {c.config.max_deliver})" for c in counted)
    text = (
        f"{named} gave them up"
        if counted
        else f"{', '.join(c.name for c in limited)} delivers each once (max_deliver 1) and may have given them up"
    )
    return f"{text}, or no filter matches them" if unmatched else text


def _cause(stream: Stream) -> str:
    if explanation := _explanation(stream):
        return explanation
    if limited := ", ".join(consumer.name for consumer in _with_max_deliver(stream)):
        return f"{_LOST}, or {limited} gave them up before its leader changed: it counts none as redelivered now"
    return _LOST


@check("stream_limits.retention_trap_declared")
def retention_trap_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Judge declared retention by declared and deployed consumers; applications may create others."""
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    for stream in manifests.kept_streams():
        current = deployed.stream(stream.name)
        configs = {consumer.name: consumer.config for consumer in (current.consumers if current else ())}
        consumers = configs | {consumer.name: consumer.stored for consumer in declared.consumers_of(stream)}
        if unsure := indeterminate(stream, "retention", "subjects", "max_age"):
            yield unsure
        elif stream.stored.retention == "limits" or stream.stored.sealed:
            continue
        elif unsure := _unsure_reader(stream, declared):
            yield unsure
        elif copies := declared.copies_of(stream):
            yield _finding(
                stream,
                f"{', '.join(copies)} will read this {stream.stored.retention} stream as a mirror or source: before"
                " server 2.14 without acknowledging, so that what is removed while that link is down never arrives",
                Severity.WARNING,
            )
        elif not consumers:
            queue = stream.stored.retention == "workqueue"
            kind, effect = ("work queue", "messages pile up") if queue else ("interest stream", _DROPPED)
            text = f"no manifest declares a consumer of this {kind}: until an application creates one, {effect}"
            yield _finding(stream, text, Severity.INFO)
        elif idle := _uncovered_declared(stream, consumers):
            yield _finding(
                stream,
                f"no consumer takes {', '.join(idle)}: what is published there stays in this work queue forever",
                Severity.WARNING,
            )
        elif limited := sorted(name for name, config in consumers.items() if config.max_deliver > 0):
            yield _max_deliver_finding(stream, limited)
        else:
            yield passed(stream.subject)


def _unsure_reader(stream: DeclaredStream, declared: Declarations) -> Finding | None:
    """`unknown` if filters or max_deliver of a declared consumer of the stream are not known."""
    fields = ("filter_subject", "filter_subjects", "max_deliver")
    unsure = next(filter(None, (indeterminate(consumer, *fields) for consumer in declared.consumers_of(stream))), None)
    return unknown(stream.subject, f"of {unsure.subject.name}, {unsure.message}", unsure.how_to_get) if unsure else None


def _uncovered_declared(stream: DeclaredStream, consumers: dict[str, ConsumerConfig]) -> list[str]:
    config, filters = stream.stored, [consumer.filters for consumer in consumers.values()]
    if config.retention != "workqueue" or config.subject_transform or not all(filters):
        return []
    wanted = tuple(pattern for patterns in filters for pattern in patterns)
    return [subject for subject in config.subjects if not overlaps_any(subject, wanted)]


def _max_deliver_finding(stream: DeclaredStream, limited: list[str]) -> Finding:
    """An info on consumers that leave messages in the stream after `max_deliver`; a pass if max_age removes these."""
    if stream.stored.max_age_ns > 0:
        return passed(stream.subject)
    text = (
        f"what {', '.join(limited)} gives up after max_deliver attempts stays in this {stream.stored.retention} stream"
    )
    return _finding(
        stream, f"{text} for ever: set max_age, or take such messages away by their advisories", Severity.INFO
    )


def _finding(stream: DeclaredStream, text: str, severity: Severity) -> Finding:
    return failed(
        stream.subject,
        text,
        stream.shows("retention", stream.stored.retention),
        severity=severity,
        confidence=Confidence.MEDIUM,
    )
