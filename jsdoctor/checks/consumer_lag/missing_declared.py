"""JSD411, from manifests: a declared durable consumer that the deployment does not have."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.manifest import Fate, Manifests
from jsdoctor.model.snapshot import SnapshotSeries


@check("consumer_lag.missing_declared")
def missing_declared(manifests: Manifests, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Before a deploy this is what will be created; after one it is drift. Only the stream's being there tells apart
    what is new as a whole, so the finding stays an info.
    """
    deployed = Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        stream = deployed.stream(consumer.stream)
        if not consumer.config.durable_name or (stream is None and not deployed.streams(consumer.stream)):
            continue
        if unsure := indeterminate(consumer, "durable_name", "stream_name") or deployed.doubt(
            consumer, consumer.stream
        ):
            yield unsure
        elif stream is None or not stream.consumers_seen:
            yield unknown(consumer.subject, "not all consumers of its stream were listed", "run again")
        elif consumer_of(stream, consumer.name) or consumer.fate is Fate.REPLACED:
            yield passed(consumer.subject)
        else:
            yield Finding(
                subject=consumer.subject,
                severity=Severity.INFO,
                message=f"its stream is deployed and this consumer is not: it will be created, and starts by deliver"
                f" policy {consumer.config.deliver_policy!r}; if it was deployed before, somebody deleted it",
                evidence=(consumer.shows("durable_name", consumer.name),),
                remedy=BY_HAND,
            )
