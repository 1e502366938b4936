"""JSD608: thresholds that operators wrote into the stream's own metadata (`io.nats.monitor.*`)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.monitor_metadata import Presets, read_thresholds
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.stream_thresholds import KEYS, breaches
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries


@check("stream_limits.metadata_threshold")
def metadata_threshold(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """The stream's own thresholds, compared as `nats server check stream` does (jsm.go monitor/stream.go).

    One finding per stream: the worst breach leads, the others follow in its message.
    """
    presets = Presets.of(params, KEYS)
    for stream in snapshots.last.led_streams():
        thresholds = read_thresholds(stream.config.metadata, KEYS, presets)
        if thresholds is None:
            continue
        worst_first = sorted(breaches(stream, thresholds), key=lambda breach: -breach.severity.rank)
        if not worst_first:
            yield passed(stream.subject)
            continue
        worst = worst_first[0]
        yield failed(
            stream.subject,
            "; ".join(breach.text for breach in worst_first),
            *(stream.observed(breach.path, breach.value) for breach in worst_first),
            severity=None if worst.severity is Severity.CRITICAL else worst.severity,
            measured=(worst.measured, worst.threshold, worst.unit),
        )
