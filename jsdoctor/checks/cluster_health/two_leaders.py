"""JSD702: a stream or consumer that several servers say they lead, in every sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import Trend


@check("cluster_health.two_leaders")
def two_leaders(trend: Trend) -> Iterator[Finding]:
    """After a partition the old leader may believe in itself for seconds, so one look proves nothing (raft.go)."""
    for readings in _readings(trend):
        always = set.intersection(*(_leaders(reading) for reading in readings))
        if len(always) < 2:
            continue
        last, names = readings[-1], " and ".join(sorted(always))
        yield Finding(
            subject=last.subject,
            message=f"{names} each say that they lead it, in every sample: what one of them takes in, the others lack",
            measured=len(always),
            threshold=1,
            unit="count",
            evidence=tuple(last.observed(f"cluster.leader@{name}", name) for name in sorted(always)),
        )


def _readings(trend: Trend) -> Iterator[Sequence[Stream] | Sequence[Consumer]]:
    yield from (history.readings for history in trend.streams())
    yield from (history.readings for history in trend.consumers())


def _leaders(asset: Stream | Consumer) -> set[str]:
    return {asset.answered_by} | {replica.server for replica in asset.replicas if replica.is_leader}
