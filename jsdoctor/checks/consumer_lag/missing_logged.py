"""JSD411, from logs: consumers that a start could not load, that clients miss, that were deleted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import no_server_lines, subject_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params

_NOT_LOADED = (
    "consumer-recreation-failed",
    "consumer-recreation-failed-unnamed-stream",
    "consumer-metafile-missing",
    "consumer-metafile-invalid",
    "consumer-metafile-undecryptable",
)
"""Signatures of JSD804, which tells what is damaged."""

_NOT_CREATED = ("consumer-create-failed", "consumer-start-failed")
_GONE = ("client-consumer-not-found", "client-consumer-deleted", "client-consumer-deleted-status")
_SILENT = "client-heartbeats-missed"


@check("consumer_lag.missing_logged")
def missing_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Servers name the consumer; clients' errors do not, so those are told by application."""
    gone, made = "could not be loaded when its server started, and is gone for its clients", "could not be created"
    found = [_finding(burst, f"a consumer {gone}, {burst.story}", None) for burst in _told(logs, *_NOT_LOADED)]
    found += [_finding(burst, f"a consumer {made}, {burst.story}", None) for burst in _told(logs, *_NOT_CREATED)]
    found += [_missed(burst, params) for burst in _told(logs, *_GONE, _SILENT)]
    deleted = _told(logs, "advisory-consumer-deleted")
    found += [_finding(burst, f"the consumer was deleted, {burst.story}", Severity.INFO) for burst in deleted]
    yield from found
    if not found:
        yield passed(CLUSTER) if logs.has_server_logs or logs.has_client_logs else no_server_lines()


def _told(logs: LogEvidence, *signatures: str) -> list[Burst]:
    ours = signatures[0] in (*_GONE, "advisory-consumer-deleted")
    return bursts(logs, *signatures, subjects=client_of if ours else subject_of, calm=False)


def _missed(burst: Burst, params: Params) -> Finding:
    if all(one.signature == _SILENT for one in burst.found):
        what = "its consumer sends no heartbeats: it is gone, has no leader, or the connection is broken"
    else:
        what = "the consumer that it uses is not there"
    severity = Severity.WARNING if burst.most >= params.integer("asked") else Severity.INFO
    why = "look who deletes it, and whether its inactive_threshold does"
    return _finding(burst, f"{what}, {burst.story}; {why}", severity)


def _finding(burst: Burst, message: str, severity: Severity | None) -> Finding:
    finding = finding_of(burst, message, severity)
    return finding if burst.subject.stream else msgspec.structs.replace(finding, remedy={"action": "none"})
