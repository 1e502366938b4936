"""JSD409, from recorded advisories: messages that reached their delivery limit."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, passed, unknown
from jsdoctor.model.log import LogEvidence

_ADVISORIES = ("advisory-max-deliver", "advisory-max-deliver-short")
_OTHERS = ("advisory-stream-action", "advisory-consumer-deleted")


@check("consumer_lag.max_deliver_exhausted_logged")
def max_deliver_exhausted_logged(logs: LogEvidence) -> Iterator[Finding]:
    """By consumer. Without any advisory in the logs their absence means nothing."""
    found = bursts(logs, *_ADVISORIES, calm=False)
    for burst in found:
        yield _finding(burst)
    if not found and logs.total(*_OTHERS):
        yield passed(CLUSTER)
    elif not found:
        why = "servers do not log this, and no advisories were recorded in these logs"
        yield unknown(CLUSTER, why, "record $JS.EVENT.ADVISORY.> into a stream or a file")


def _finding(burst: Burst) -> Finding:
    measures = [measure for one in burst.found if (measure := one.measure("stream_seq"))]
    low, high = min((m.smallest for m in measures), default=0), max((m.largest for m in measures), default=0)
    which = f"message {low:,}" if low == high else f"messages between {low:,} and {high:,}"
    return finding_of(
        burst,
        f"the delivery limit was reached, {burst.story}, for {which} of the stream: they stay in it and this consumer"
        " does not deliver them again",
    )
