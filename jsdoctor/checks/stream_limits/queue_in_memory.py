"""JSD629: queues, buckets and streams of durables that are in the memory of one server only."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, shown
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted


@check("stream_limits.queue_in_memory")
def queue_in_memory(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Judge memory streams with one replica whose messages are meant to last; caches may use memory."""
    for stream in snapshots.last.led_streams():
        config = stream.config
        if config.storage != "memory" or config.mirror is not None or stream.is_mqtt:
            continue
        use = _lasting_use(stream)
        if config.num_replicas > 1 or not use:
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            f"it is {use} in the memory of one server: when that server restarts, its"
            f" {counted(stream.state.messages, 'message')} are gone, and its sequences begin at 1 again",
            *shown(stream, "config.storage", "config.num_replicas", "config.retention"),
            measured=(stream.state.messages, None, "count"),
        )


def _lasting_use(stream: Stream) -> str:
    """The use of a stream whose messages are meant to last, in words; empty: there is none."""
    if stream.config.retention == "workqueue":
        return "a work queue"
    durables = [c for c in stream.consumers if c.config.durable_name and c.config.ack_policy != "none"]
    if stream.config.retention == "interest" and durables:
        return "an interest stream with durable consumers"
    if stream.is_key_value or stream.is_object_store:
        return "a bucket"
    return "a stream with durable consumers" if durables else ""
