"""JSD623: publishes that were refused because of their headers: the stream does not allow it, or they are invalid."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.log import LogEvidence

_FEATURES = {
    "publish-ttl-not-allowed": "a time to live (allow_msg_ttl)",
    "publish-counter-not-allowed": "a counter (allow_msg_counter)",
    "publish-atomic-not-allowed": "an atomic batch (allow_atomic)",
    "publish-schedule-not-allowed": "a schedule (allow_msg_schedules)",
    "publish-batch-not-allowed": "a batch (allow_batched)",
}
"""What the publish requested and the setting of the stream that allows it, by signature."""
_INVALID = {
    "publish-schedule-pattern": "Nats-Schedule is no time that it knows",
    "publish-schedule-target": "Nats-Schedule-Target must be another subject of the same stream than its own",
    "publish-schedule-ttl": "Nats-Schedule-TTL is no time to live, or the stream allows none (allow_msg_ttl)",
    "publish-schedule-rollup": "a schedule replaces messages of its own subject only (Nats-Rollup: sub)",
    "publish-schedule-source": "Nats-Schedule-Source must be another subject of the same stream without wildcards",
}
"""What is wrong with a schedule, by signature (server: stream.go processJetStreamMsg)."""


@check("stream_limits.feature_not_allowed_logged", lines_of="clients")
def feature_not_allowed_logged(logs: LogEvidence) -> Iterator[Finding]:
    """One finding for each application: its error names no stream, and servers do not log refused publishes."""
    for burst in bursts(logs, *_FEATURES, *_INVALID, subjects=client_of, calm=False):
        requested = {occurrence.signature for occurrence in burst.found}
        features = ", ".join(words for signature, words in _FEATURES.items() if signature in requested)
        wrong = [words for signature, words in _INVALID.items() if signature in requested]
        why = [f"because the stream does not allow {features}"] if features else []
        why += [f"as invalid schedules: {'; '.join(wrong)}"] if wrong else []
        yield finding_of(
            burst, f"publishes were refused {', and '.join(why)}: {burst.story}. These messages are not stored"
        )
