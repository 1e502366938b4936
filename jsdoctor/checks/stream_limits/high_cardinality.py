"""JSD606: a stream with so many subjects that the index of them is a load on its servers."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.metadata_threshold import most_subjects
from jsdoctor.model.finding import Finding, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries


@check("stream_limits.high_cardinality")
def high_cardinality(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge the number of subjects, of which each replica has an index in memory (server: filestore.go, psim)."""
    warn_subjects, given = params.integer("warn_subjects"), "warn_subjects" in params.given
    for stream in snapshots.last.led_streams():
        limit = warn_subjects if given else most_subjects(stream) or warn_subjects
        if stream.state.num_subjects < limit:
            yield passed(stream.subject)
        else:
            held, copies = stream.state.num_subjects, max(stream.config.num_replicas, 1)
            where = "its server keeps" if copies == 1 else f"each of its {copies} servers keeps"
            yield failed(
                stream.subject,
                f"it stores messages on {held:,} different subjects: {where} all of them in memory, and start-up,"
                " filtered consumers and lists of subjects take longer the more there are",
                *shown(stream, "state.num_subjects", "state.messages"),
                measured=(held, limit, "count"),
            )
