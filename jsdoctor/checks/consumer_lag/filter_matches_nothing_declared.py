"""JSD416, from manifests: a filter outside the subjects that its stream will have."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.declared.index import Declarations
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, Manifests
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.subjects import overlaps_any


@check("consumer_lag.filter_matches_nothing_declared")
def filter_matches_nothing_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Filters are compared with the subjects that messages are stored under (server: consumer.go checkConsumerCfg)."""
    known, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        filters = consumer.stored.filters
        if not filters:
            continue
        declared, there = known.stream_of(consumer), deployed.stream(consumer.stream)
        stream = declared.stored if declared else there.config if there else None
        if unsure := indeterminate(consumer, "filter_subject", "filter_subjects", "stream_name"):
            yield unsure
        elif stream is None:
            yield unknown(
                consumer.subject,
                f"its stream {consumer.stream} is in no manifest"
                if consumer.stream
                else "no stream is named beside it",
                "give the manifest of its stream too, or name the deployment (-s URL or --bundle FILE)",
            )
        else:
            yield _judged(consumer, filters, stream)


def _judged(consumer: DeclaredConsumer, filters: tuple[str, ...], stream: StreamConfig) -> Finding:
    idle = [wanted for wanted in filters if not overlaps_any(wanted, stream.subjects)]
    if not idle:
        return passed(consumer.subject)
    if stream.subject_transform or stream.mirror or stream.sources:
        says = "its stream takes messages from elsewhere or rewrites subjects: what it stores cannot be told"
        return unknown(consumer.subject, says, f"once it is deployed: nats stream subjects {stream.name}")
    return Finding(
        subject=consumer.subject,
        message=f"filter {idle[0]!r} lies outside the subjects of the stream ({', '.join(stream.subjects[:3])}): the"
        " server accepts it and no message will ever match",
        evidence=(consumer.at("filter_subject", "filter_subjects").shows(f"filter: {idle[0]}"),),
        remedy=BY_HAND,
    )
