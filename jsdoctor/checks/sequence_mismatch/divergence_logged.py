"""JSD207 in logs: copies of one stream that did not fit together."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_FAULTS = {
    "replica-apply-mismatch": "what the leader sent did not fit the copy of a follower",
    "catchup-past-leader": "a follower asked for messages beyond the leader's last: one of them lost its end",
    "raft-index-mismatch": "the Raft log on disk did not end where it should",
}
_THEN = "compare the copies (JSD207 on a live check), and look for unclean stops and full disks before it"


@check("sequence_mismatch.divergence_logged")
def divergence_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The servers reset or resend what differs; whose messages survive is the leader's copy (jetstream_cluster.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = False
    for signature, what in _FAULTS.items():
        for burst in bursts(logs, signature, calm=False):
            found = True
            once = burst.count == 1 and signature != "replica-apply-mismatch"
            yield detailed_finding(burst, what, _THEN, Severity.WARNING if once else None)
    if not found:
        yield passed(CLUSTER)
