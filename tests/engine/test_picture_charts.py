"""Charts of snapshots: rates and redeliveries over time, storage against limits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.picture.charts import ack_latencies, usages
from jsdoctor.engine.picture.trends import delivered_rates, redeliveries, stored_rates
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
                    replace(
                        one,
                        at=one.at + wait,
                        num_redelivered=redelivered,
                        delivered=replace(one.delivered, consumer_seq=one.delivered.consumer_seq + 2 * stored),
                    )
                    for one in stream.consumers
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


def test_a_rate_of_a_consumer_is_what_was_delivered_to_it(evidence: EvidenceSet) -> None:
    series = delivered_rates(evidence)
    assert series
    assert {tuple(value for _, value in one.points) for one in series} == {(10.0, 0.0)}
    [chart] = [one for one in charts(Picture(delivered_rates=series)).lines if "delivered" in one.title]
    assert len(chart.curves) == len(series)


def test_acknowledgement_times_are_drawn_from_the_median_to_the_99th_percentile() -> None:
    edit = {"acks": "ORDERS/archive", "times": {"60": "100ms", "40": "2s"}}
    evidence = evidence_of({"base": "three-nodes-2.15.1-account", "edit": [edit]})
    [measured] = ack_latencies(evidence)
    assert (measured.count, measured.p50_ns, measured.p99_ns) == (100, 100_000_000, 2_000_000_000)
    [drawn] = charts(Picture(ack_latencies=(measured,))).spreads
    assert 0 < drawn.middle < drawn.high < 100
    assert drawn.label == "100ms · 2s · 2s"
