"""JSD427: workers that receive headers only, of messages that are deleted when they are acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.snapshot import SnapshotSeries, Stream


@check("consumer_lag.headers_only")
def headers_only(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """On a work queue each message has one consumer; with interest retention any of them may receive the body."""
    for stream, consumer in snapshots.last.led_consumers():
        if not consumer.config.headers_only:
            continue
        if not _bodies_reach_no_consumer(stream):
            yield passed(consumer.subject)
            continue
        yield failed(
            consumer.subject,
            "it delivers headers only, and the stream deletes each message when it is acknowledged: no consumer"
            " receives its body",
            consumer.observed("config.headers_only", consumer.config.headers_only),
            stream.observed("config.retention", stream.config.retention),
            measured=(True, None, None),
        )


def _bodies_reach_no_consumer(stream: Stream) -> bool:
    if stream.config.retention == "interest":
        return stream.consumers_seen and all(consumer.config.headers_only for consumer in stream.consumers)
    return stream.config.retention == "workqueue"
