"""JSD603: a full stream with discard policy `new` refuses what is published.

From logs: publishes that were refused because a stream is full, by publishers' logs and servers' debug lines.
From manifests: a stream that will refuse publishes by its own configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import client_of, subject_of
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.room import room
from jsdoctor.checks.streams.limits import StreamLimitUse, refuses_when_full, storage_fills
from jsdoctor.model.finding import Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stream_room import least_full_subjects, may_have_full_subjects, refuses_per_subject
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted

_MAX_NAMED = 3
_JUDGED_FIELDS = (
    *("discard", "subjects", "retention", "max_age", "max_bytes", "max_msgs", "max_msg_size"),
    *("sealed", "allow_msg_ttl", "subject_delete_marker_ttl", "max_msgs_per_subject"),
)


@check("stream_limits.rejects_publishes")
def rejects_publishes(
    snapshots: SnapshotSeries, trend: Trend | None, subjects: NearSubjects | None
) -> Iterator[Finding]:
    """Judge full streams with `discard: new`, which refuse publishes with error 10077 (filestore.go storeRawMsg).

    One message for each subject with `discard_new_per_subject` is a lock by choice, and is not judged.
    """
    for stream in snapshots.last.led_streams():
        if stream.config.sealed:
            yield from _sealed_finding(stream)
            continue
        fills = storage_fills(stream)
        if not refuses_when_full(stream) or not (fills or refuses_per_subject(stream.config)):
            continue
        full = [fill for fill in fills if fill.no_room]
        # A replicated mirror goes on past its limit on newer servers: then nothing is refused.
        if not full or (stream.config.mirror and any(fill.share > 1 for fill in full)):
            yield (
                _full_subjects_finding(stream, subjects)
                if refuses_per_subject(stream.config)
                else passed(stream.subject)
            )
            continue
        more = room(stream, trend, *full)
        reached = " and ".join(f"{fill.used:,} of {fill.limit:,} {fill.noun}" for fill in full)
        yield failed(
            stream.subject,
            f"it is full ({reached}): {_effect(stream)}",
            stream.observed("config.discard", stream.config.discard),
            *(seen for fill in full for seen in fill.observed(stream)),
            measured=(full[0].used, full[0].limit, "bytes" if full[0].noun == "bytes" else "count"),
            between=(_full_since(stream, full), None),
            remedy=more.remedy,
            advice=more.advice,
        )


def _full_since(stream: Stream, full: Sequence[StreamLimitUse]) -> datetime | None:
    """When the last message filled the stream; None if its limits were lowered since, or if it is not known."""
    lowered = any(fill.used > fill.limit for fill in full)
    created = shown_or(lambda: stream.created, None)
    if lowered or created is None or stream.state.last_ts is None:
        return None
    return max(created, stream.state.last_ts)


def _sealed_finding(stream: Stream) -> Iterator[Finding]:
    """An info on a sealed stream with subjects: clients may still publish to it. Object stores are sealed by design."""
    if stream.config.subjects and not stream.config.mirror and not stream.name.startswith("OBJ_"):
        yield failed(
            stream.subject,
            f"the stream is sealed: each publish to {', '.join(stream.config.subjects[:_MAX_NAMED])} is refused"
            " (error 10109), and a sealed stream cannot be opened again",
            stream.observed("config.sealed", value=True),
            stream.observed("state.last_ts", stream.state.last_ts),
            severity=Severity.INFO,
            measured=(True, None, None),
            remedy={"action": "stream.inspect"},
        )


def _full_subjects_finding(stream: Stream, subjects: NearSubjects | None) -> Finding:
    """An info on full subjects, as producers may rely on refusals; `unknown` if it is not known whether any is full."""
    config, state = stream.config, stream.state
    counted_ones = subjects.full_subjects(stream.account, stream.name) if subjects else None
    full = counted_ones if counted_ones is not None else least_full_subjects(config, state)
    if not full and counted_ones is None and may_have_full_subjects(config, state):
        return unknown(
            stream.subject,
            f"whether one of its {counted(state.num_subjects, 'subject')} has {config.max_msgs_per_subject:,} messages"
            " or more, and takes no more, was not counted",
            f"run: nats stream subjects {stream.name}",
        )
    if not full:
        return passed(stream.subject)
    least = "" if counted_ones is not None else "at least "
    return failed(
        stream.subject,
        f"{least}{full:,} of {counted(state.num_subjects, 'subject')} have {config.max_msgs_per_subject:,}"
        " messages (max_msgs_per_subject) and discard_new_per_subject is set: publishes to them fail now, error 10077",
        *shown(stream, "config.max_msgs_per_subject", "state.messages", "state.num_subjects"),
        severity=Severity.INFO,
        measured=(full, 1, "count"),
        remedy={"action": "stream.inspect"},
    )


def _effect(stream: Stream) -> str:
    if stream.config.mirror:
        return "the mirror has stopped copying, though it reports no lag"
    if stream.config.no_ack:
        return "new messages are discarded and no publisher learns of it, because no_ack is set"
    return "publishes fail (error 10077), unnoticed if no reply is awaited"


_CLIENT = ("client-stream-full-messages", "client-stream-full-bytes", "client-stream-full-subject")
_TOO_LARGE = {
    "its publishes were refused, a message is larger than max_msg_size of the stream (10054)": (
        "client-message-too-large",
    ),
    "its client library refused a message that is larger than max_payload of the server": (
        "client-payload-too-large",
        "client-payload-too-large-javascript",
        "client-payload-too-large-java",
    ),
}


_INSPECTED = {"action": "stream.inspect"}
"""Logs do not show the limits of the stream."""


@check("stream_limits.rejects_publishes_logged", lines_of="clients")
def rejects_publishes_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report refused publishes. Server logs alone do not pass the rule, as servers log them at level DBG only."""
    log_bursts = [
        *bursts(logs, "stream-full", subjects=subject_of, calm=False),
        *bursts(logs, *_CLIENT, subjects=client_of),
    ]
    for what, names in _TOO_LARGE.items():
        for burst in bursts(logs, *names, subjects=client_of, calm=False):
            text = f"{what}: {burst.story}. It is not stored, however often it is published"
            yield finding_of(burst, text, Severity.WARNING, remedy=_INSPECTED)
    for burst in log_bursts:
        what = burst.values("reason") or "the stream is full"
        who = "it refuses messages" if burst.subject.kind == "stream" else "its publishes were refused"
        text = f"{who}, {what} (10077): {burst.story}. What is not published again is lost"
        yield finding_of(burst, text, None if is_recent(logs, burst) else Severity.WARNING, remedy=_INSPECTED)


@check("stream_limits.rejects_publishes_declared")
def rejects_publishes_declared(manifests: Manifests) -> Iterator[Finding]:
    """Judge declared `discard: new`: if nothing ever leaves a full stream, it refuses all publishes (10077).

    Buckets are created with this policy, and are not judged.
    """
    for stream in manifests.kept_streams():
        config = stream.stored
        if config.name.startswith(("KV_", "OBJ_")):
            continue
        if unsure := indeterminate(stream, *_JUDGED_FIELDS):
            yield unsure
        elif not config.subjects or config.discard != "new":
            continue
        elif config.sealed:
            yield _finding(stream, "sealed", "it is sealed: every publish to its subjects is refused", None)
        elif 0 < config.max_bytes < config.max_msg_size:
            text = (
                f"max_msg_size {config.max_msg_size:,} lets in what max_bytes {config.max_bytes:,} never has room for"
            )
            yield _finding(
                stream, "max_msg_size", f"{text}: such publishes are refused (error 10077)", Severity.WARNING
            )
        elif max(config.max_bytes, config.max_msgs) > 0 and not _removes_messages(config):
            text = "once it is full every publish fails (error 10077), until messages are deleted: nothing expires"
            yield _finding(stream, "discard", f"{text}, and its discard policy is new", Severity.INFO)
        else:
            yield passed(stream.subject)


def _removes_messages(config: StreamConfig) -> bool:
    """Whether messages may leave a full stream by themselves, or be replaced."""
    expire = config.max_age_ns > 0 or config.allow_msg_ttl
    return config.retention != "limits" or expire or config.max_msgs_per_subject > 0


def _finding(stream: DeclaredStream, field: str, text: str, severity: Severity | None) -> Finding:
    return failed(stream.subject, text, stream.at(field).shows(f"discard: {stream.stored.discard}"), severity=severity)
