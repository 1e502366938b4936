"""Charts of snapshots: rates and redeliveries over time, storage against limits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.picture.charts import usages
from jsdoctor.engine.picture.trends import redeliveries, stored_rates
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.picture import Picture
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.trend import Trend
from jsdoctor.render.html.charts import charts
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


def test_a_full_stream_that_discards_old_messages_is_no_alarm() -> None:
    first = recorded()
    only = replace(first, streams=tuple(stream for stream in first.streams if stream.name == "RING"))
    found = usages(EvidenceSet({SnapshotSeries: SnapshotSeries((only,))}, {}))
    [ring] = [one for one in found if one.what == "messages"]
    assert ring.used == ring.limit
    [bar] = charts(Picture(usages=(ring,))).bars
    assert (bar.grade, bar.width) == ("ok", 100)
    [refusing] = charts(Picture(usages=(replace(ring, rolls=False),))).bars
    assert refusing.grade == "full"
