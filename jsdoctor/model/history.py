"""The same deployment over hours and days: what earlier bundles or Prometheus showed, and the present look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Subject
from jsdoctor.model.snapshot import ClusterSnapshot, same_incarnation
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, consumer_histories, stream_histories

MAX_SAMPLES = 24
"""Maximum number of earlier samples that are read, as each may hold ten thousand consumers."""


class History(Evidence, frozen=True):
    """Two or more snapshots, oldest first, the last one of this run; each other of a bundle or from Prometheus.

    Other than in `Trend`, an asset need not have been seen, or led, in all of them: earlier readings of the same
    incarnation count where there are any.
    """

    source = EvidenceSource.HISTORY
    parts = ("assets", "consumers")
    unavailable = not_offered(
        "no earlier bundles of this deployment were given",
        "give the directory that jsdoctor capture writes them to: --history DIR",
        kind="history",
    )

    snapshots: tuple[ClusterSnapshot, ...]

    @property
    def now(self) -> ClusterSnapshot:
        """The snapshot of this run."""
        return self.snapshots[-1]

    def streams(self) -> Iterator[StreamHistory]:
        """Every stream that is led now and was seen before."""
        return stream_histories(self.snapshots, 1)

    def consumers(self) -> Iterator[ConsumerHistory]:
        """Every consumer that is led now and was seen before."""
        return consumer_histories(self.snapshots, 1)

    def without(self, subject: Subject) -> Self:
        """The same without that stream or consumer."""
        return msgspec.structs.replace(self, snapshots=tuple(each.without(subject) for each in self.snapshots))


def is_same_deployment(earlier: ClusterSnapshot, now: ClusterSnapshot) -> bool:
    """Whether both show at least one and the same stream."""
    known = {stream.key: stream for stream in now.streams if stream.created}
    return any(s.created and s.key in known and same_incarnation(s, known[s.key]) for s in earlier.streams)
