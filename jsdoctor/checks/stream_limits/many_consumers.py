"""JSD616: a stream with more consumers than one stream carries well."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries


@check("stream_limits.many_consumers")
def many_consumers(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge the number of consumers, by the stream's own count if not all could be listed."""
    many = params.integer("many")
    for stream in snapshots.last.led_streams():
        count = max(stream.state.consumer_count, len(stream.consumers))
        if count < many:
            yield passed(stream.subject)
            continue
        replicas = stream.config.num_replicas
        raft = f" With R{replicas}, each durable one is a Raft group of its own." if replicas > 1 else ""
        yield failed(
            stream.subject,
            f"it has {count:,} consumers: each new message is matched against all of them, restarts and leader"
            f" changes take minutes, and every listing of them loads the servers.{raft}",
            stream.observed("state.consumer_count", stream.state.consumer_count),
            measured=(count, many, "count"),
        )
