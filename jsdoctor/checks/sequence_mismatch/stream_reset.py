"""JSD208: copies and indexes that servers discarded and rebuilt, and how that ended."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, findings_by_subject
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity
from jsdoctor.model.log import LogEvidence

_UNREADABLE = (
    *("cluster-entry-undecodable", "cluster-assignment-undecodable", "stream-assignment-corrupt"),
    *("store-side-state-undecodable", "store-side-state-unreadable", "raft-snapshot-unreadable"),
)
_COPY_DISCARDED = (
    "the server throws its copy away and takes the leader's; look at its disk and for unclean stops before it"
)
_REPLAY = "the leader sends it again; without a majority that has it, it is lost"


@check("sequence_mismatch.stream_reset_logged", lines_of="servers")
def stream_reset_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report resets; an index rebuilt after an unclean stop is an info, as that is normal (recoverFullState)."""
    resets = log_incidents(logs, "stream-reset", "stream-reset-bad-state", calm=False)
    yield from findings_by_subject(resets, "a copy of the stream was reset", _COPY_DISCARDED)
    for burst in bursts(logs, "store-state-outdated", "store-state-recovered", "store-state-rescanned", calm=False):
        what = f"indexes of {burst.values('store')} were rebuilt, as after every unclean stop"
        rebuilt = detailed_finding(burst, what, "nothing to do", Severity.INFO)
        yield replace(rebuilt, confidence=Confidence.LOW)  # it explains no trouble by itself
    for burst in bursts(logs, *_UNREADABLE, calm=False):
        yield detailed_finding(
            burst, "entries or states could not be read and were left out", _REPLAY, Severity.WARNING
        )
    for burst in bursts(logs, "raft-log-reset", "raft-log-not-truncated"):
        yield detailed_finding(
            burst, f"Raft logs were thrown away{burst.in_brackets('group')}", _REPLAY, Severity.WARNING
        )
