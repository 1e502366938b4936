"""Rates, growth and the time to loss, from two recorded looks with numbers that make the sums easy."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.consumer_lag.loss import time_to_loss
from jsdoctor.checks.consumer_lag.progress import acknowledged, flow, grows, moved, quiet_ns
from jsdoctor.model.jetstream import SequencePair
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, Trend
from tests.evidence import evidence_of

SECOND_NS = 1_000_000_000


def recorded() -> ConsumerHistory:
    trend = evidence_of({"base": "one-node-2.15.1"}).get(Trend)
    assert isinstance(trend, Trend)
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


def test_fetching_a_batch_is_no_progress_and_no_growth() -> None:
    rates = flow(history([consumer(0, 100, 500), consumer(10, 200, 400, unacknowledged=100)]))
    assert rates is not None
    assert (rates.arriving, rates.done, rates.growth) == (0, 0, 0)


def test_acknowledging_a_batch_is_progress() -> None:
    seen = history([consumer(0, 200, 400, unacknowledged=100), consumer(10, 200, 450)])
    rates = flow(seen)
    assert rates is not None
    assert (rates.arriving, rates.done, rates.growth) == (5, 10, -5)
    assert acknowledged(seen)


def test_redeliveries_are_no_progress() -> None:
    rates = flow(history([consumer(0, 100, 500, 50, by_stream=100), consumer(10, 400, 500, 50, by_stream=100)]))
    assert rates is not None
    assert rates.done == 0


def test_a_reset_has_no_rate() -> None:
    assert flow(history([consumer(0, 100, 500), consumer(10, 5, 595)])) is None


def test_growth_must_be_there_in_every_interval() -> None:
    steady = history([consumer(0, 0, 100), consumer(10, 10, 150), consumer(20, 20, 200)])
    dented = history([consumer(0, 0, 100), consumer(10, 10, 90), consumer(20, 20, 200)])
    for seen, expected in ((steady, True), (dented, False)):
        rates = flow(seen)
        assert rates is not None
        assert grows(seen, rates) is expected


def test_a_time_that_a_new_leader_does_not_know_is_no_sign_of_life() -> None:
    before = replace(consumer(0, 5, 5), delivered=SequencePair(5, 5, BEGAN))
    after = replace(consumer(2, 5, 5), delivered=SequencePair(5, 5, None))
    assert not moved(history([before, after]))
    assert moved(history([before, replace(after, delivered=SequencePair(5, 5, BEGAN + timedelta(seconds=1)))]))


def test_silence_counts_from_whatever_happened_last() -> None:
    quiet = replace(
        consumer(60, 5, 5),
        delivered=SequencePair(5, 5, BEGAN + timedelta(seconds=20)),
        ack_floor=SequencePair(5, 5, BEGAN + timedelta(seconds=50)),
    )
    assert quiet_ns(quiet) == 10 * SECOND_NS


def test_a_consumer_that_never_delivered_is_quiet_since_it_was_made() -> None:
    fresh = replace(consumer(60, 0, 5), created=BEGAN)
    assert quiet_ns(fresh) == 60 * SECOND_NS
    assert quiet_ns(consumer(60, 5, 5)) is None


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
