"""How streams and consumers move over the checks of a watch."""

from datetime import UTC, datetime, timedelta

from jsdoctor.engine.activity import MAX_ASSETS, MAX_POINTS, Activities, busiest, follow
from jsdoctor.model.jetstream import ConsumerConfig, SequencePair, StreamConfig, StreamState
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream

BEGAN = datetime(2025, 3, 9, 3, 4, 5, tzinfo=UTC)


def stream(name: str, second: int, last_seq: int, delivered: int, created: datetime = BEGAN) -> Stream:
    at = BEGAN + timedelta(seconds=second)
    worker = Consumer(
        account="APP",
        stream=name,
        name="worker",
        config=ConsumerConfig(durable_name="worker"),
        delivered=SequencePair(delivered, delivered),
        ack_floor=SequencePair(delivered, delivered),
        num_pending=last_seq - delivered,
        created=created,
        at=at,
    )
    return Stream(
        account="APP",
        name=name,
        config=StreamConfig(name=name),
        state=StreamState(last_seq=last_seq),
        created=created,
        at=at,
        consumers=(worker,),
    )


def followed(*checks: ClusterSnapshot) -> Activities:
    activities: Activities = {}
    for check in checks:
        activities = follow(activities, check)
    return activities


def check(second: int, *streams: Stream) -> ClusterSnapshot:
    return ClusterSnapshot(taken_at=BEGAN + timedelta(seconds=second), streams=streams)


def test_lag_and_rates() -> None:
    orders = [stream("ORDERS", second, last_seq, done) for second, last_seq, done in ((0, 10, 10), (10, 110, 60))]
    activities = followed(check(0, orders[0]), check(10, orders[1]))
    stored, worker = activities[orders[1].subject], activities[orders[1].consumers[0].subject]
    assert (stored.lag, stored.rates) == ((), (10.0,))
    assert (worker.lag, worker.rates) == ((0, 50), (5.0,))
    assert [activity.subject.label for activity in busiest(activities, 5)] == ["APP > ORDERS > worker", "APP > ORDERS"]


def test_what_is_recreated_starts_again_and_what_is_gone_is_forgotten() -> None:
    again = BEGAN + timedelta(seconds=5)
    first = check(0, stream("ORDERS", 0, 500, 500), stream("GONE", 0, 1, 1))
    activities = followed(first, check(10, stream("ORDERS", 10, 3, 0, created=again)))
    assert {activity.subject.label for activity in activities.values()} == {"APP > ORDERS", "APP > ORDERS > worker"}
    assert all(not activity.rates for activity in activities.values())


def test_memory_is_bounded() -> None:
    many = MAX_ASSETS + 200
    activities: Activities = {}
    for second in range(MAX_POINTS + 5):
        names = range(many if second < 2 else 3)
        shown = check(second, *(stream(f"S{name}", second, second * (name + 1), 0) for name in names))
        activities = follow(activities, shown)
        assert len(activities) <= MAX_ASSETS
    assert {len(activity.rates) for activity in activities.values()} == {MAX_POINTS}


def test_a_stalled_clock_makes_no_rate() -> None:
    same = stream("ORDERS", 0, 10, 0)
    assert all(not activity.rates for activity in followed(check(0, same), check(0, same)).values())
