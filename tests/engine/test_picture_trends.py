"""Charts over time: rates and redeliveries are those of the snapshots."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.picture.trends import redeliveries, stored_rates
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.snapshot import ClusterSnapshot
from jsdoctor.model.trend import Trend
from tests.evidence import evidence_of

BASE = {"base": "three-nodes-2.15.1"}


def recorded() -> ClusterSnapshot:
    """The first snapshot of a recording."""
    trend = evidence_of(BASE).get(Trend)
    assert isinstance(trend, Trend)
    return trend.snapshots[0]


def later(snapshot: ClusterSnapshot, seconds: int, stored: int, redelivered: int) -> ClusterSnapshot:
    """The same deployment after that time, with so many more messages in each stream."""
    wait = timedelta(seconds=seconds)
    return replace(
        snapshot,
        taken_at=snapshot.taken_at + wait,
        streams=tuple(
            replace(
                stream,
                at=stream.at + wait,
                state=replace(stream.state, last_seq=stream.state.last_seq + stored),
                consumers=tuple(
                    replace(one, at=one.at + wait, num_redelivered=redelivered) for one in stream.consumers
                ),
            )
            for stream in snapshot.streams
        ),
    )


@pytest.fixture
def evidence() -> EvidenceSet:
    first = recorded()
    return EvidenceSet({Trend: Trend((first, later(first, 10, 50, 7), later(first, 30, 50, 0)))}, {})


def test_a_rate_is_what_was_stored_between_two_snapshots(evidence: EvidenceSet) -> None:
    series = stored_rates(evidence)
    assert series
    assert {tuple(value for _, value in one.points) for one in series} == {(5.0, 0.0)}


def test_redeliveries_are_those_of_each_snapshot(evidence: EvidenceSet) -> None:
    series = redeliveries(evidence)
    assert series
    assert {tuple(value for _, value in one.points)[1:] for one in series} == {(7.0, 0.0)}


def test_streams_that_stored_nothing_are_not_drawn() -> None:
    first = recorded()
    assert stored_rates(EvidenceSet({Trend: Trend((first, later(first, 10, 0, 0)))}, {})) == ()
