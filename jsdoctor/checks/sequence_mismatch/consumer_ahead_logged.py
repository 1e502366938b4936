"""JSD205 in logs: consumers that had a higher sequence than the last of their stream."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_AHEAD = ("consumer-delivered-ahead", "consumer-acked-ahead", "consumer-floor-ahead")
_LOST = "the stream lost its end or was made anew; find out why it did, the consumer is only the witness"


@check("sequence_mismatch.consumer_ahead_logged")
def consumer_ahead_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Servers before 2.14 say nothing at a start; from then on they move the consumer back and say so (consumer.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = bursts(logs, *_AHEAD, calm=False)
    for burst in found:
        only = {one.signature for one in burst.found}
        repaired = only == {"consumer-delivered-ahead"}
        then = f"the server moved it back, {_LOST}" if repaired else _LOST
        acks = only == {"consumer-acked-ahead"}
        yield detailed_finding(burst, _what(burst), then, Severity.ERROR if repaired or acks else None)
    if not found:
        yield passed(CLUSTER)


def _what(burst: Burst) -> str:
    exemplar = next((line for one in burst.found for line in one.exemplars), None)
    known = dict(exemplar.fields) if exemplar else {}
    at, last = known.get("at"), known.get("last")
    return f"at sequence {int(at):,} of a stream that ends at {int(last):,}" if at and last else "ahead of its stream"
