"""JSD613: publishes and requests without a responder, by the logs of applications."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity
from jsdoctor.model.log import LogEvidence

_NO_STREAM = (
    *("client-no-response-from-stream", "client-no-stream-matches", "client-no-stream-found"),
    *("client-no-matching-streams", "client-publish-no-response"),
)
_NO_RESPONDERS = ("client-no-responders", "client-no-responders-exception")
_MANY = 10
_JUST_NOW_US = 60_000_000


@check("stream_limits.no_stream_for_subject_logged", lines_of="clients")
def no_stream_for_subject_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report unanswered publishes and requests, a few of which are infos: an election causes some, too."""
    for burst in bursts(logs, *_NO_STREAM, *_NO_RESPONDERS, subjects=client_of):
        is_severe = burst.most >= _MANY or is_recent(logs, burst, _JUST_NOW_US)
        yield _finding(burst, None if is_severe else Severity.INFO)


def _finding(burst: Burst, severity: Severity | None) -> Finding:
    """The finding; low confidence if the lines only have "no responders", which may be about any service."""
    end = "Either no stream captures the subject, or the stream has no leader"
    if any(occurrence.signature in _NO_STREAM for occurrence in burst.found):
        return finding_of(burst, f"no stream acknowledged what it published: {burst.story}. {end}", severity)
    message = f"its requests got no reply, which is also how a missing stream looks: {burst.story}. {end}"
    return msgspec.structs.replace(
        finding_of(burst, message, severity),
        confidence=Confidence.LOW,
        how_to_get="nats stream ls --subject SUBJECT names the stream that captures the subject, or none",
    )
