"""JSD308, from logs: publishes that the server had already."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.acks import DUPLICATE_ACKS, sequences
from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.words import no_client_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params

_OTHERS = ("duplicate-id-in-process", "duplicate-dropped")


@check("dedupe_window.duplicate_acks_logged")
def duplicate_acks_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """By stream where the line names it, else by application."""
    told = bursts(logs, *DUPLICATE_ACKS, *_OTHERS, subjects=client_of, calm=False)
    for burst in told:
        yield _finding(burst, params)
    if not told:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()


def _finding(burst: Burst, params: Params) -> Finding:
    span = sequences(burst.found)
    unproven = span is not None and span[0] == 0
    often = burst.most >= params.integer("burst")
    return Finding(
        subject=burst.subject,
        severity=None if often or unproven else Severity.INFO,
        message=f"messages were published again that were there already, {burst.story}"
        + ("; some were answered with sequence 0, which is no proof that anything is stored" if unproven else "")
        + "; find why the first acknowledgement was late or lost, or whether an id is reused",
        measured=burst.most,
        threshold=params.integer("burst"),
        unit="count",
        first_seen=burst.first_seen,
        last_seen=burst.last_seen,
        evidence=burst.evidence,
    )
