"""JSD623: publishes that were refused because the stream does not allow what their headers request."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import finding_of
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


@check("stream_limits.feature_not_allowed_logged", lines_of="clients")
def feature_not_allowed_logged(logs: LogEvidence) -> Iterator[Finding]:
    """By application: the error that it received names no stream. Servers log no refused publish."""
    for burst in bursts(logs, *_FEATURES, subjects=client_of, calm=False):
        requested = {occurrence.signature for occurrence in burst.found}
        features = ", ".join(words for signature, words in _FEATURES.items() if signature in requested)
        yield finding_of(
            burst,
            f"publishes were refused because the stream does not allow {features}: {burst.story}. These messages are"
            " not stored",
        )
