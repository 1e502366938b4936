"""JSD418, from logs: consumers that servers refuse to create or to change."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import no_client_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, passed
from jsdoctor.model.log import LogEvidence

_REFUSED = (
    "consumer-setting-fixed",
    "consumer-workqueue-refused",
    "consumer-limit-reached",
    "consumer-backoff-refused",
    "consumer-replicas-refused",
    "consumer-filters-overlap",
    "consumer-ack-pending-over-limit",
    "consumer-flow-control-refused",
)
_STORED = {
    "consumer-filter-overlaps-on-disk": "its filter overlaps with that of another consumer of this work-queue stream",
    "consumer-replicas-on-disk": "it has not as many replicas as its interest stream, which servers refuse today",
}


@check("consumer_lag.configuration_refused_logged")
def configuration_refused_logged(logs: LogEvidence) -> Iterator[Finding]:
    """By application; by consumer where a server found it in its own store."""
    refused = bursts(logs, *_REFUSED, subjects=client_of, calm=False)
    found = [(burst, f"a consumer was refused ({burst.values('reason')})") for burst in refused]
    for name, what in _STORED.items():
        found += [(burst, what) for burst in bursts(logs, name, calm=False)]
    for burst, what in found:
        yield finding_of(burst, f"{what}, {burst.story}")
    if not found:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()
