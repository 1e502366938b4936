"""JSD301, from logs: a duplicate window that was asked for and refused."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.words import no_client_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, passed
from jsdoctor.model.log import LogEvidence


@check("dedupe_window.window_refused_logged")
def window_refused_logged(logs: LogEvidence) -> Iterator[Finding]:
    """By application; servers do not log it."""
    told = bursts(logs, "dedupe-window-refused", subjects=client_of, calm=False)
    for burst in told:
        yield Finding(
            subject=burst.subject,
            message=(
                f"a stream configuration was refused, {burst.story}: duplicates window {burst.values('reason')}; the"
                " stream has another window than was meant, or does not exist"
            ),
            measured=burst.count,
            unit="count",
            first_seen=burst.first_seen,
            last_seen=burst.last_seen,
            evidence=burst.evidence,
            remedy={"action": "none"},
        )
    if not told:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()
