"""Short ways to snapshots of streams, and to what was found in them."""

from collections.abc import Iterable
from typing import Any

from jsdoctor.model.finding import Finding
from jsdoctor.model.jetstream import StreamState
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from tests.checks.values import NOON


def state(messages: int, first: int, last: int, **fields: Any) -> StreamState:
    """So many messages between two sequences."""
    return StreamState(messages=messages, first_seq=first, last_seq=last, **fields)


def sample(*streams: Stream) -> ClusterSnapshot:
    """One sample, of noon."""
    return ClusterSnapshot(taken_at=NOON, streams=streams)


def series(*streams: Stream) -> SnapshotSeries:
    """A run with one sample."""
    return SnapshotSeries((sample(*streams),))


def two(before: Iterable[Stream], now: Iterable[Stream]) -> Trend:
    """Two samples."""
    return Trend((sample(*before), sample(*now)))


def texts(findings: Iterable[Finding]) -> list[str]:
    """The message of each, or its outcome where it has none."""
    return [finding.message or finding.outcome.value for finding in findings]
