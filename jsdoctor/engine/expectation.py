"""A publisher's expected sequence compared with the stream: which of them is behind, and what was stored in between.

Mechanism: nats-server compares `Nats-Expected-Last-Sequence` with the stream's last sequence and nothing else
(server/stream.go `processJetStreamMsgWithBatch`). Clients of buckets expect the last sequence of their key.
"""

from __future__ import annotations

from jsdoctor.model.expectation import RefusedPublish
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.snapshot import Stream

STALE, AHEAD = "JSD201", "JSD202"
DECIDED_BY_EXPECTATION = frozenset({STALE, AHEAD})
"""The rules that an expected sequence can decide."""


def findings_on_expectation(expectation: RefusedPublish, stream: Stream) -> dict[str, Finding]:
    """Findings by rule code: a publisher that fell behind, or one that is ahead of what its stream has become."""
    if not stream.from_leader:
        why = unknown(stream.subject, "the stream was not seen from its leader", "look again when it has a leader")
        return {STALE: why, AHEAD: why}
    expected, last = expectation.expected_seq, stream.state.last_seq
    if expected is None:
        return {AHEAD: _went_back(expectation, stream)} if (expectation.actual_seq or 0) > last else {}
    if expected > last:
        return {STALE: passed(stream.subject), AHEAD: _ahead(expected, expectation, stream)}
    if expectation.actual_seq is not None and expectation.actual_seq < expected:
        return {STALE: passed(stream.subject), AHEAD: _was_ahead(expected, expectation.actual_seq, expectation, stream)}
    if expected < last:
        return {STALE: _stale(expected, expectation, stream), AHEAD: passed(stream.subject)}
    would_pass = unknown(
        stream.subject,
        f"expecting {expected:,} is right by now: the same publish would be stored",
        "give what it expected when it was refused, or its log with --logs PATH",
    )
    return {STALE: would_pass, AHEAD: passed(stream.subject)}


def _went_back(expectation: RefusedPublish, stream: Stream) -> Finding:
    message = (
        f"when the publish was refused the stream was at {expectation.actual_seq:,}, now it ends at "
        f"{stream.state.last_seq:,}: since then it was deleted and created again, restored or lost its end"
    )
    return _finding(expectation, stream, message, None)


def _ahead(expected: int, expectation: RefusedPublish, stream: Stream) -> Finding:
    last = stream.state.last_seq
    message = (
        f"the publisher expects {expected:,}, but the stream ends at {last:,}: it was deleted and created again, "
        "restored or lost its end. It accepts nothing from this publisher until that reads the last sequence again"
    )
    return _finding(expectation, stream, message, None)


def _was_ahead(expected: int, actual: int, expectation: RefusedPublish, stream: Stream) -> Finding:
    """The stream is past it now, but the server compared it with a lower sequence, of a subject or a younger stream."""
    compared = "a subject of which nothing is stored any more" if actual == 0 else f"{actual:,}"
    message = (
        f"the publisher expected {expected:,}, and the server compared it with {compared}: messages of it were "
        "purged or removed, or the stream was recreated and has grown since. The publisher must read the last sequence "
        "again" + ("; for a subject without messages that is 0" if actual == 0 else "")
    )
    return _finding(expectation, stream, message, None)


def _stale(expected: int, expectation: RefusedPublish, stream: Stream) -> Finding:
    last, follower = stream.state.last_seq, expectation.follower
    behind = f"the publisher expects {expected:,}, the stream is at {last:,}"
    if stream.is_key_value:
        compared = f", and the server compared it with {expectation.actual_seq:,}" if expectation.actual_seq else ""
        behind = f"the publisher expects revision {expected:,} of its key{compared}"
    if follower is None:
        between = f"{last - expected:,} messages were stored since by another publisher, or by itself"
        if stream.is_key_value:
            between = "the key was written since by another publisher, or by itself"
        return _finding(expectation, stream, f"{behind}: {between}. It must read the last sequence again", None)
    named = f" with the id {follower.msg_id}" if follower.msg_id else " without an id"
    if expectation.msg_id and follower.msg_id == expectation.msg_id:
        message = (
            f"{behind}, and message {follower.stream_seq:,} has the very id {follower.msg_id}: the first attempt was "
            "stored and its acknowledgement lost. The publish is a success; only the retry was refused"
        )
        return _finding(expectation, stream, message, Severity.INFO)
    message = f"{behind}: message {follower.stream_seq:,} on {follower.subject}{named} came first, from another writer"
    if not expectation.msg_id:
        message = f"{behind}: message {follower.stream_seq:,} on {follower.subject}{named} came first"
    return _finding(expectation, stream, f"{message}. The publisher must read the last sequence again", None)


def _finding(expectation: RefusedPublish, stream: Stream, message: str, severity: Severity | None) -> Finding:
    evidence = [stream.observed("state.last_seq", stream.state.last_seq)]
    if (follower := expectation.follower) is not None:
        evidence.append(stream.observed(f"message {follower.stream_seq}", follower.subject))
        evidence.append(stream.observed(f"message {follower.stream_seq} Nats-Msg-Id", follower.msg_id))
    return failed(
        stream.subject,
        message,
        *evidence,
        severity=severity,
        measured=(expectation.expected_seq, stream.state.last_seq, "count"),
    )
