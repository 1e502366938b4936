"""JSD826: publishes and requests without a response in time, as applications logged them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params

_PUBLISHES = "publish-request-timed-out"
_REQUESTS = (_PUBLISHES, "publish-ack-late", "jetstream-request-unanswered", "jetstream-api-unanswered")
_ANY = "publish-timed-out"
"""Every `nats: timeout`, those of publishes too: also what a fetch returns that finds no messages."""


@check("server_health.client_timeouts_logged", lines_of="clients")
def client_timeouts_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """By application. What the server did meanwhile, a client does not know."""
    judged: set[Subject] = set()
    for burst in bursts(logs, *_REQUESTS, subjects=client_of, calm=False):
        judged.add(burst.subject)
        grave = burst.most >= params.integer("min_timeouts")
        message = f"publishes or requests to JetStream got no reply in time: {burst.story}"
        yield finding_of(burst, message, None if grave else Severity.INFO)
    for burst in bursts(logs, _ANY, subjects=client_of, calm=False):
        if burst.subject not in judged:
            judged.add(burst.subject)
            message = f"requests timed out: {burst.story}; a fetch that finds no messages ends with the same words"
            yield finding_of(burst, message, Severity.INFO)
