"""What rules on streams and their readers say at their bounds: consumers without messages, subjects without readers."""

from datetime import timedelta
from typing import Any

import pytest

from jsdoctor.checks.stream_limits.metadata_threshold import most_subjects
from jsdoctor.checks.stream_limits.rejects_publishes import rejects_publishes
from jsdoctor.checks.stream_limits.unheard_subjects import unheard_subjects
from jsdoctor.checks.stream_limits.unread_evicted import unread_evicted
from jsdoctor.checks.streams.limits import stored_subjects
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.jetstream import ConsumerConfig, SequencePair, StreamConfig, StreamState, SubjectTransform
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from tests.checks.snapshots import sample, series, texts
from tests.checks.values import NOON

SECOND = timedelta(seconds=1)
NONE = StreamState()


def consumer(name: str = "c", config: dict[str, Any] | None = None, seq: int = 0, **fields: Any) -> Consumer:
    known: dict[str, Any] = {"account": "APP", "stream": "S", "at": NOON, "answered_by": "n1"}
    places = {"delivered": SequencePair(seq), "ack_floor": SequencePair()}
    return Consumer(name=name, config=ConsumerConfig(**(config or {})), **(known | places | fields))


def stream(name: str = "S", state: StreamState = NONE, config: dict[str, Any] | None = None, **fields: Any) -> Stream:
    known: dict[str, Any] = {"account": "APP", "at": NOON, "answered_by": "n1"}
    return Stream(name=name, state=state, config=StreamConfig(name=name, **(config or {})), **(known | fields))


FULL = StreamState(messages=10, first_seq=2, last_seq=11)


def evicted(
    *readings: Consumer, state: StreamState = FULL, earlier: tuple[Consumer, StreamState] | None = None
) -> list[Finding]:
    config = {"max_msgs": 10}
    now = sample(
        stream("JOBS", FULL, config | {"retention": "workqueue"}, consumers=(consumer(stream="JOBS"),)),
        stream("FREE", FULL, consumers=(consumer(stream="FREE"),)),
        stream("ROOM", FULL, {"max_msgs": 11}, consumers=(consumer(stream="ROOM"),)),
        stream("S", state, config, consumers=readings),
    )
    if earlier is None:
        return list(unread_evicted(SnapshotSeries((now,)), None))
    before = sample(stream("S", earlier[1], config, consumers=(earlier[0],), at=NOON - SECOND))
    return list(unread_evicted(SnapshotSeries((before, now)), Trend((before, now))))


def test_consumers_to_which_everything_is_still_to_be_delivered() -> None:
    def unread(config: dict[str, Any] | None = None, **fields: Any) -> bool:
        (finding,) = evicted(consumer(config=config, **({"num_pending": 10} | fields)))
        return finding.outcome is Outcome.FAIL

    assert unread()
    assert unread({"deliver_policy": "by_start_sequence", "opt_start_seq": 2})
    assert not unread({"deliver_policy": "by_start_sequence", "opt_start_seq": 3})
    assert not unread({"deliver_policy": "new"})
    assert not unread({"filter_subject": "a"})
    assert not unread(paused=True)
    assert not unread(num_pending=9)
    assert evicted(consumer(num_pending=10), state=StreamState(messages=10, first_seq=1, last_seq=10)) == []


def test_messages_that_left_unread_between_the_samples() -> None:
    waiting, at_work = consumer(num_pending=10, at=NOON - SECOND), consumer(num_pending=5, at=NOON - SECOND)
    before = StreamState(messages=10, first_seq=2, last_seq=11)
    now = StreamState(messages=10, first_seq=9, last_seq=18)
    for earlier, removed in ((waiting, 7), (at_work, 10)):
        (finding,) = evicted(consumer(num_pending=10), state=now, earlier=(earlier, before))
        assert finding.measured == removed
        assert ("; 7 between the samples" in finding.message) is (removed == 7)


INTEREST = {"retention": "interest", "subjects": ("a", "b", "c")}


def unheard(before: list[Consumer], now: list[Consumer], arrived: int = 100) -> Finding:
    first = stream("S", StreamState(last_seq=100), INTEREST, consumers=tuple(before), at=NOON - 10 * SECOND)
    last = stream("S", StreamState(last_seq=100 + arrived), INTEREST, consumers=tuple(now))
    trend = Trend((sample(first), sample(last)))
    (finding,) = unheard_subjects(SnapshotSeries(trend.snapshots), trend)
    return finding


def reading(seq: int, ago: float = 0, name: str = "c", **fields: Any) -> Consumer:
    filters = {"filter_subjects": ("a", "b.x", "b", "c")}
    return consumer(name, filters, seq, at=NOON - ago * SECOND, **fields)


def test_messages_that_matched_no_filter() -> None:
    finding = unheard([reading(0, 10)], [reading(30)])
    assert (finding.outcome, finding.measured) == (Outcome.FAIL, 70)
    assert unheard([reading(0, 10)], [reading(50)]).outcome is Outcome.PASS
    assert unheard([reading(0, 10)], [reading(49)]).measured == 51
    assert unheard([reading(0, 10)], [reading(0)], 11).measured == 11
    assert unheard([reading(0, 10)], [reading(0)], 10).outcome is Outcome.PASS
    assert unheard([reading(0, 10)], [reading(0), reading(0, name="d")]).outcome is Outcome.PASS
    follower = unheard([reading(0, 10), reading(0, 10, "d", from_leader=False)], [reading(0), reading(0, name="d")])
    assert follower.outcome is Outcome.PASS


def test_subjects_that_no_filter_matches_of_streams_behind_those_that_are_not_judged() -> None:
    filters = {"filter_subject": "a"}
    nobody = stream("NOBODY", config=INTEREST)
    unlisted = stream("PART", StreamState(consumer_count=2), INTEREST, consumers=(consumer(),))
    many = tuple(consumer(f"c{number}", filters) for number in range(6))
    results = list(unheard_subjects(series(nobody, unlisted, stream("S", config=INTEREST, consumers=many)), None))
    assert [finding.outcome for finding in results] == [Outcome.NOT_EVALUATED, Outcome.FAIL]
    assert results[1].message.startswith("no consumer's filter matches b, c: what is published there")
    assert len(results[1].evidence) == 2 + 5
    free = stream("S", config=INTEREST, consumers=(consumer(config=filters), consumer("all")))
    assert texts(unheard_subjects(series(free), None)) == ["pass"]


@pytest.mark.parametrize(
    ("destination", "stored"),
    [("x.$1", "x.*"), ("x.{{wildcard(1)}}.y", "x.*.y"), ("x.{{SplitFromLeft(1,2)}}.y", "x.>"), ("x.y", "x.y")],
)
def test_subjects_as_a_transform_stores_them(destination: str, stored: str) -> None:
    assert stored_subjects(("a.*",), SubjectTransform("", destination)) == (stored,)
    assert stored_subjects(("a.*", "b"), SubjectTransform("a.*", destination)) == (stored, "b")


@pytest.mark.parametrize(
    ("own", "most"),
    [({}, None), ({"critical": "1"}, 1), ({"warn": "5", "critical": "9"}, 5), ({"warn": "9", "critical": "5"}, None)],
)
def test_the_number_of_subjects_that_a_stream_wants_to_be_warned_of(own: dict[str, str], most: int | None) -> None:
    metadata = {"io.nats.monitor.enabled": "true"} | {f"io.nats.monitor.subjects-{key}": own[key] for key in own}
    assert most_subjects(stream(config={"metadata": metadata})) == most


def test_streams_that_refuse_what_is_published() -> None:
    def refusing(name: str = "S", state: StreamState = NONE, **config: Any) -> list[str]:
        settings = {"discard": "new", "subjects": ("a", "b", "c", "d")} | config
        return texts(rejects_publishes(series(stream(name, state, settings)), None, None))

    sealed = "each publish to a, b, c is refused (error 10109), and a sealed stream cannot be opened again"
    assert refusing(sealed=True) == [f"the stream is sealed: {sealed}"]
    assert refusing("OBJ_FILES", sealed=True) == []
    full = StreamState(messages=10, bytes=100)
    silent = "new messages are discarded and no publisher learns of it, because no_ack is set"
    assert refusing(state=full, max_msgs=10, max_bytes=100, no_ack=True) == [
        "it is full (10 of 10 messages and 100 of 100 bytes): " + silent
    ]
