"""Charts of snapshots: rates and redeliveries over time, storage against limits."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.picture.charts import ack_latencies, usages
from jsdoctor.engine.picture.draw import edges, nodes, picture
from jsdoctor.engine.picture.trends import delivered_rates, stored_rates, trends
from jsdoctor.model.ack_times import AckTimes, ConsumerAcks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding
from jsdoctor.model.links import Gateway, Leaf, Links, ServerLinks
from jsdoctor.model.picture import ChartSeries, Edge, Picture, Usage
from jsdoctor.model.report import Result
from jsdoctor.model.server import UNLIMITED, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.trend import History, Trend
from jsdoctor.render.html.charts import charts
from tests.render import reports
from tests.support.evidence import evidence_of

BASE = {"base": "three-nodes-2.15.1"}


def recorded() -> ClusterSnapshot:
    """The first snapshot of a recording."""
    trend = evidence_of(BASE).get(Trend)
    assert trend is not None
    return trend.snapshots[0]


def alone(snapshot: ClusterSnapshot, name: str, *consumers: str) -> ClusterSnapshot:
    """Of that deployment one stream with these consumers."""
    (stream,) = (candidate for candidate in snapshot.streams if candidate.name == name and candidate.from_leader)
    return replace(
        snapshot,
        streams=(
            replace(stream, consumers=tuple(consumer for consumer in stream.consumers if consumer.name in consumers)),
        ),
    )


def waiting(
    snapshot: ClusterSnapshot, seconds: float, pending: int, limit: int = 0, leader: str = "n1"
) -> ClusterSnapshot:
    """The same after that time, with so many messages that wait for each consumer, and another leader."""
    after = later(snapshot, seconds, 0, 0)
    return replace(
        after,
        streams=tuple(
            replace(
                stream,
                config=replace(stream.config, max_msgs=limit),
                cluster=replace(stream.cluster, leader=leader) if stream.cluster else None,
                consumers=tuple(replace(consumer, num_pending=pending) for consumer in stream.consumers),
            )
            for stream in after.streams
        ),
    )


def later(snapshot: ClusterSnapshot, seconds: float, stored: int, redelivered: int) -> ClusterSnapshot:
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
                        consumer,
                        at=consumer.at + wait,
                        num_redelivered=redelivered,
                        delivered=replace(
                            consumer.delivered, consumer_seq=consumer.delivered.consumer_seq + 2 * stored
                        ),
                    )
                    for consumer in stream.consumers
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
    assert {tuple(value for _, value in line.points) for line in series} == {(5.0, 0.0)}


def test_a_rate_within_less_than_a_second_is_per_second() -> None:
    """Of a single message, too."""
    first = recorded()
    for seconds, rate in ((0.5, 2.0), (0.001, 1000.0), (0.0, 1000.0)):
        series = stored_rates(EvidenceSet({Trend: Trend((first, later(first, seconds, 1, 0)))}, {}))
        assert {tuple(value for _, value in line.points) for line in series} == {(rate,)}


def test_a_full_stream_that_discards_old_messages_is_no_alarm() -> None:
    first = recorded()
    only = replace(first, streams=tuple(stream for stream in first.streams if stream.name == "RING"))
    usage_list = usages(EvidenceSet({SnapshotSeries: SnapshotSeries((only,))}, {}))
    [ring] = [usage for usage in usage_list if usage.what == "messages"]
    assert ring.used == ring.limit
    [bar] = charts(Picture(usages=(ring,))).bars
    assert (bar.grade, bar.width) == ("ok", 100)
    [refusing] = charts(Picture(usages=(replace(ring, rolls=False),))).bars
    assert refusing.grade == "full"


def test_a_rate_of_a_consumer_is_what_was_delivered_to_it(evidence: EvidenceSet) -> None:
    series = delivered_rates(evidence)
    assert series
    assert {tuple(value for _, value in line.points) for line in series} == {(10.0, 0.0)}
    assert charts(Picture(delivered_rates=series)).lines == (), "two points are no curve"
    longer = tuple(replace(line, points=tuple((at, float(at)) for at in range(5))) for line in series)
    [chart] = charts(Picture(delivered_rates=longer)).lines
    assert len(chart.curves) == len(series)


def test_acknowledgement_times_are_drawn_from_the_median_to_the_99th_percentile() -> None:
    edit = {"acks": "ORDERS/archive", "times": {"60": "100ms", "40": "2s"}}
    evidence = evidence_of({"base": "three-nodes-2.15.1-account", "edit": [edit]})
    [measured] = ack_latencies(evidence)
    assert (measured.count, measured.p50_ns, measured.p99_ns) == (100, 100_000_000, 2_000_000_000)
    [drawn] = charts(Picture(ack_latencies=(measured,))).spreads
    assert 0 < drawn.middle < drawn.high < 100
    assert drawn.label == "100ms · 2s · 2s"


def lag(*pending: int, limit: int = 1000, apart: int = 10) -> ChartSeries:
    """The lag of one consumer, every ten seconds."""
    first = alone(recorded(), "ORDERS", "archive")
    snapshots = tuple(waiting(first, apart * number, count, limit) for number, count in enumerate(pending))
    (series,) = trends(reports.report(), EvidenceSet({History: History(snapshots)}, {}))
    return series


def test_a_growing_lag_heads_for_the_limit_of_its_stream() -> None:
    """200 in 20 seconds: 700 more take 70."""
    series = lag(100, 150, 300)
    assert (series.name, series.unit) == ("APP > ORDERS > archive", "count")
    begin = series.points[0][0]
    assert [((at - begin) / 1e6, value) for at, value in series.points] == [(0, 100), (10, 150), (20, 300)]
    assert series.limit == 1000
    assert series.projection == (begin + 90_000_000, 1000)


@pytest.mark.parametrize(
    ("pending", "limit"), [((100, 100, 300), 1100), ((100, 300), 1101), ((300, 100), 400), ((9, 9), 10)]
)
def test_a_projection_reaches_four_times_as_far_as_what_was_seen(pending: tuple[int, ...], limit: int) -> None:
    series = lag(*pending, limit=limit)
    assert (series.projection is None) == (limit != 1100)
    assert (series.limit is None) == (limit != 1100)


def test_a_clock_that_stands_still_shows_no_trend() -> None:
    assert lag(100, 300, apart=0).projection is None


def test_a_counter_that_fell_shows_no_rate() -> None:
    """A stream that was recreated counts from 1 again."""
    first = recorded()
    snapshots = (first, later(first, 10, 90, 0), later(first, 20, 40, 0))
    series = stored_rates(EvidenceSet({Trend: Trend(snapshots)}, {}))
    assert {tuple(value for _, value in line.points) for line in series} == {(9.0, 0.0)}


def test_a_member_of_the_meta_group_that_is_offline_is_down() -> None:
    case = {"base": "three-nodes-2.15.1", "edit": [{"server": "n3", "drop": True}]}
    peer = {"offline": True, "name": "n3", "active": 40_000_000_000}
    changed = {f"meta_cluster.replicas.0.{name}": value for name, value in peer.items()}
    offline = {"server": "n1", "set": changed | {"meta_cluster.leader": "n1"}}
    evidence = evidence_of(case | {"edit": [*case["edit"], offline]})
    assert [(node.name, node.state, node.why) for node in nodes(reports.report(), evidence)] == [
        *(("n1", "ok", ""), ("n2", "ok", ""), ("n3", "down", "offline in the meta group"))
    ]
    known = Result(reports.HEALTH, Finding(subject=reports.server("n3"), message="no response"))
    report = reports.report([known])
    assert [node.why for node in nodes(report, evidence)][2] == "JSD801 no response"
    drawn = picture(reports.report(), evidence)
    [down] = [event for lane in drawn.timeline.lanes if lane.name == "n3" for event in lane.events]
    assert (down.kind, down.open, down.end_us - down.start_us) == ("down", True, 40_000_000)
    orders = next(placement for placement in drawn.placements if placement.name == "APP > ORDERS")
    assert {state for _, state in orders.copies} == {"leader", "current"}


def test_each_gateway_and_leaf_node_is_one_edge() -> None:
    """A gateway is up if one of its servers has a connection to the other cluster."""
    at = recorded().taken_at
    links = Links(
        (
            ServerLinks(
                server="b1", cluster="B", at=at, gateways=(Gateway("A", True, False), Gateway("C", True, False))
            ),
            ServerLinks(server="a1", cluster="A", at=at, gateways=(Gateway("B", True, True),)),
            ServerLinks(server="a2", cluster="A", at=at, gateways=(Gateway("B", True, False),)),
            ServerLinks(server="hub", cluster="", at=at, leafs=(Leaf(name="site"), Leaf(name="up", is_spoke=True))),
            ServerLinks(server="none", cluster="", at=at),
        )
    )
    assert edges(EvidenceSet({Links: links}, {})) == (
        Edge("gateway", "A", "B", True),
        Edge("gateway", "B", "C", False),
        Edge("leaf node", "hub", "site", True),
        Edge("leaf node", "up", "hub", True),
    )


def test_a_report_has_every_part_that_there_is_evidence_for() -> None:
    first = recorded()
    snapshots = (waiting(first, 0, 0), later(waiting(first, 10, 5, leader="n2"), 0, 90, 3))
    acks = AckTimes((ConsumerAcks("A", "S", "slow", (1, 9)),))
    drawn = picture(
        reports.report(), EvidenceSet({Trend: Trend(snapshots), History: History(snapshots), AckTimes: acks}, {})
    )
    parts = ("trends", "stored_rates", "delivered_rates", "redeliveries", "ack_latencies", "leaders")
    assert [part for part in parts if not getattr(drawn, part)] == []


def limited(name: str, max_storage: int, storage: int, max_memory: int = 0, memory: int = 0) -> Server:
    """A server with so much storage and memory for JetStream, and so much of both in use."""
    servers = evidence_of(BASE).get(Servers)
    assert servers is not None
    stats = servers.servers[0].jetstream
    assert stats is not None
    assert stats.config is not None
    config = replace(stats.config, max_storage=max_storage, max_memory=max_memory)
    return replace(
        servers.servers[0], name=name, jetstream=replace(stats, config=config, storage=storage, memory=memory)
    )


def test_storage_of_servers_is_drawn_where_it_has_a_limit_and_is_used() -> None:
    """Servers without JetStream, and those that did not report their limits, have none."""
    bare = limited("n0", 1, 1)
    assert bare.jetstream is not None
    servers = (
        replace(bare, jetstream=None),
        replace(bare, jetstream=replace(bare.jetstream, config=None)),
        limited("n1", 1, 1, 400, 100),
        limited("n2", 0, 5, UNLIMITED, 5),
        limited("n3", UNLIMITED - 1, 7, 400, 0),
    )
    known = evidence_of(BASE).get(Servers)
    assert known is not None
    assert usages(EvidenceSet({Servers: replace(known, servers=servers)}, {})) == (
        Usage("n1", "file storage", 1, 1),
        Usage("n1", "memory storage", 100, 400),
        Usage("n3", "file storage", 7, UNLIMITED - 1),
    )
