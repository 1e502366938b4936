"""Rates, growth and the time to loss, from two recorded looks with numbers that make the sums easy."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.consumer_lag.progress import moved, time_to_loss
from jsdoctor.model.jetstream import SequencePair
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, Trend
from tests.support.evidence import evidence_of

SECOND_NS = 1_000_000_000


def recorded() -> ConsumerHistory:
    trend = evidence_of({"base": "one-node-2.15.1"}).get(Trend)
    assert trend is not None
    return next(history for history in trend.consumers() if history.last.name == "archive")


RECORDED = recorded()
BEGAN = RECORDED.first.at


def consumer(
    at_s: int, delivered: int, pending: int, unacknowledged: int = 0, by_stream: int | None = None
) -> Consumer:
    """The consumer after that many seconds; everything delivered but for `unacknowledged` was acknowledged in order."""
    by_stream = delivered if by_stream is None else by_stream
    return replace(
        RECORDED.first,
        at=BEGAN + timedelta(seconds=at_s),
        delivered=SequencePair(consumer_seq=delivered, stream_seq=by_stream),
        ack_floor=SequencePair(consumer_seq=delivered - unacknowledged, stream_seq=by_stream - unacknowledged),
        num_pending=pending,
        num_ack_pending=unacknowledged,
    )


def stream(last_seq: int, messages: int, size: int = 100, **config: Any) -> Stream:
    recorded_stream = RECORDED.stream
    # A hundred messages a second, the last one just now.
    at = BEGAN + timedelta(seconds=10)
    dates = {"first_ts": at - timedelta(seconds=(last_seq - 1) / 100), "last_ts": at}
    state = replace(
        recorded_stream.state, first_seq=1, last_seq=last_seq, messages=messages, bytes=messages * size, **dates
    )
    limits = {"max_age_ns": 0, "max_bytes": -1, "max_msgs": -1, **config}
    return replace(recorded_stream, at=at, state=state, config=replace(recorded_stream.config, **limits))


def history(consumers: list[Consumer], streams: list[Stream] | None = None) -> ConsumerHistory:
    return ConsumerHistory(tuple(consumers), tuple(streams or [RECORDED.stream] * len(consumers)))


def test_a_time_that_a_new_leader_does_not_know_is_no_sign_of_life() -> None:
    before = replace(consumer(0, 5, 5), delivered=SequencePair(5, 5, BEGAN))
    after = replace(consumer(2, 5, 5), delivered=SequencePair(5, 5, None))
    assert not moved(history([before, after]))
    assert moved(history([before, replace(after, delivered=SequencePair(5, 5, BEGAN + timedelta(seconds=1)))]))


@pytest.mark.parametrize(
    ("limits", "limit", "seconds"),
    [
        # Behind by 1,900, falling back by 90 a second, 100 a second arrive.
        ({"max_msgs": 10_900}, "max_msgs", 100),
        ({"max_bytes": 1_090_000}, "max_bytes", 100),
        ({"max_msgs": 1_900}, "max_msgs", 0),
        # Read now, a message is 19 s old; its age grows by 0.9 s a second.
        ({"max_age_ns": 109 * SECOND_NS}, "max_age", 100),
        ({"max_age_ns": 109 * SECOND_NS, "max_msgs": 2_800}, "max_msgs", 10),
        ({"max_age_ns": 109 * SECOND_NS, "max_msgs": 2_800, "discard": "new"}, "max_age", 100),
    ],
)
def test_time_to_loss(limits: dict[str, Any], limit: str, seconds: float) -> None:
    streams = [stream(1_000, 1_000, **limits), stream(2_000, 2_000, **limits)]
    loss = time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 100, 1_900)], streams))
    assert loss is not None
    assert loss.limit == limit
    assert loss.seconds == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize(
    "limits", [{}, {"max_msgs": 10_900, "discard": "new"}, {"max_msgs": 9, "retention": "interest"}]
)
def test_no_limit_no_loss(limits: dict[str, Any]) -> None:
    streams = [stream(1_000, 1_000, **limits), stream(2_000, 2_000, **limits)]
    assert time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 100, 1_900)], streams)) is None


def test_a_consumer_that_catches_up_loses_nothing() -> None:
    streams = [stream(1_000, 1_000, max_msgs=2_000), stream(1_100, 1_100, max_msgs=2_000)]
    assert time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 500, 600)], streams)) is None


@pytest.mark.parametrize(
    ("last_seq", "delivered", "falls"),
    [
        # A hundred messages a second arrive, and a twentieth of them is five.
        (2_000, 940, True),
        (2_000, 950, True),
        (2_000, 960, False),
        # One a second arrives, and half of them are delivered: that falls back for sure.
        (1_010, 5, True),
    ],
)
def test_falling_back_by_a_twentieth_of_what_arrives_counts(last_seq: int, delivered: int, falls: bool) -> None:
    streams = [stream(1_000, 1_000, max_msgs=9_000), stream(last_seq, last_seq, max_msgs=9_000)]
    readings = [consumer(0, 0, 1_000), consumer(10, delivered, last_seq - delivered)]
    assert (time_to_loss(history(readings, streams)) is not None) is falls


def test_half_as_much_as_ever_arrived_is_not_the_rate() -> None:
    streams = [stream(1_000, 1_000, max_msgs=9_000), stream(2_000, 2_000, max_msgs=9_000)]
    loss = time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 900, 1_100)], streams))
    assert loss is not None
    assert loss.seconds == pytest.approx((9_000 - 1_100) / 10)


def test_a_limit_of_zero_is_none() -> None:
    streams = [stream(1_000, 1_000, max_msgs=0), stream(2_000, 2_000, max_msgs=0)]
    assert time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 100, 1_900)], streams)) is None


def test_the_smallest_messages_have_a_byte() -> None:
    streams = [stream(last_seq, last_seq, size=1, max_bytes=10_900) for last_seq in (1_000, 2_000)]
    loss = time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 100, 1_900)], streams))
    assert loss is not None
    assert loss.seconds == pytest.approx(100)


@pytest.mark.parametrize("limits", [{"max_msgs": 1_000}, {"max_age_ns": 5 * SECOND_NS}])
def test_past_the_limit_the_whole_way_is_behind(limits: dict[str, Any]) -> None:
    streams = [stream(1_000, 1_000, **limits), stream(2_000, 2_000, **limits)]
    loss = time_to_loss(history([consumer(0, 0, 1_000), consumer(10, 100, 1_900)], streams))
    assert loss is not None
    assert (loss.share, loss.seconds) == (1.0, 0.0)
