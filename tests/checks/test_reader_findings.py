"""What rules on streams and their readers say at their bounds: consumers without messages, subjects without readers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from jsdoctor.checks.monitor_metadata import Thresholds
from jsdoctor.checks.stream_limits.origins import Deployment, Origin
from jsdoctor.checks.stream_limits.rejects_publishes import rejects_publishes
from jsdoctor.checks.stream_limits.replicas_risky import replicas_risky
from jsdoctor.checks.stream_limits.silence import is_heard, quiet_ns
from jsdoctor.checks.stream_limits.stream_thresholds import breaches, most_subjects
from jsdoctor.checks.stream_limits.subjects_stored_twice import subjects_stored_twice
from jsdoctor.checks.stream_limits.unheard_subjects import unheard_subjects
from jsdoctor.checks.stream_limits.unread_evicted import unread_evicted
from jsdoctor.checks.streams.claims import unclaimed
from jsdoctor.checks.streams.stored_subjects import stored_subjects
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.jetstream import (
    Cluster,
    ConsumerConfig,
    ExternalStream,
    Peer,
    SequencePair,
    SourceConfig,
    SourceInfo,
    StreamConfig,
    StreamState,
    SubjectTransform,
)
from jsdoctor.model.server import ConnectedServer
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import StreamHistory, Trend
from tests.checks.snapshots import sample, series, texts
from tests.checks.values import NOON

SECOND = timedelta(seconds=1)
NS = 1_000_000_000
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


def test_consumers_that_were_read_over_a_shorter_time_than_their_stream() -> None:
    assert unheard([reading(0, 7.5)], [reading(0)]).outcome is Outcome.FAIL
    assert unheard([reading(0, 7.4)], [reading(0)]).outcome is Outcome.NOT_EVALUATED
    both = unheard([reading(0, 10), reading(0, 7.4, "d")], [reading(0), reading(0, name="d")])
    assert both.outcome is Outcome.NOT_EVALUATED


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


def external(name: str, domain: str, **fields: Any) -> SourceConfig:
    return SourceConfig(name, external=ExternalStream(f"$JS.{domain}.API"), **fields)


def twice(*sources: SourceConfig, origins: Iterable[Stream] = ()) -> str:
    copy = stream("COPY", config={"sources": sources, "subjects": ("a", "b", "c")}, domain="leaf")
    return next(
        iter(texts(item for item in subjects_stored_twice(series(copy, *origins)) if item.subject.name == "COPY"))
    )


def test_subjects_that_two_domains_store() -> None:
    hub = stream("O", config={"subjects": ("c", "b", "a", "z")}, domain="hub")
    other = stream("P", config={"subjects": ("b",)}, domain="east")
    text = twice(external("O", "hub"), external("P", "east"), origins=[hub, other])
    assert text.startswith("it listens to a, b, c as O@hub, P@east does, which it copies")
    narrowed = twice(external("O", "hub", subject_transforms=(SubjectTransform("b", "x"),)), origins=[hub])
    assert narrowed.startswith("it listens to b as O@hub does")
    away = twice(external("O", "hub"), external("P", "east"), external("Q", "west"))
    assert away.startswith("what it copies from domain east, hub, west was not collected")


@pytest.mark.parametrize(
    ("destination", "stored"),
    [("x.$1", "x.*"), ("x.{{wildcard(1)}}.y", "x.*.y"), ("x.{{SplitFromLeft(1,2)}}.y", "x.>"), ("x.y", "x.y")],
)
def test_subjects_as_a_transform_stores_them(destination: str, stored: str) -> None:
    assert stored_subjects(("a.*",), SubjectTransform("", destination)) == (stored,)
    assert stored_subjects(("a.*", "b"), SubjectTransform("a.*", destination)) == (stored, "b")


def test_what_shows_that_an_origin_sends() -> None:
    def sends(*actives: int) -> bool:
        infos = [SourceInfo("O", active_ns=active) for active in actives]
        return is_heard(Origin(infos[-1], tuple(infos[:-1])))

    assert sends(0, 5 * NS - 1)
    assert not sends(0, 5 * NS)
    assert not sends(-1, 0)


@pytest.mark.parametrize(("before", "seconds"), [((-1, -1), 60), ((-1, 0), 0), ((0, -1), 0), ((-1, 1), 0)])
def test_an_origin_that_was_never_seen_is_silent_since_the_first_sample(before: tuple[int, int], seconds: int) -> None:
    readings = [stream(at=NOON - number * 30 * SECOND) for number in (2, 1, 0)]
    origin = Origin(SourceInfo("O", active_ns=-1), tuple(SourceInfo("O", active_ns=active) for active in before))
    known = Deployment(series(), None, None)
    grouped = Cluster(leader="n1", replicas=(Peer(name="n2"),))
    last = stream(cluster=grouped)
    assert quiet_ns(last, origin, StreamHistory((*readings[:2], last)), known) == seconds * NS


def test_thresholds_of_streams_at_their_bounds() -> None:
    seen = Cluster(leader="n1", replicas=(Peer(name="n2", active_ns=5 * NS), Peer(name="n3", active_ns=5 * NS + 1)))
    late = breaches(stream(cluster=seen), Thresholds(durations_ns={"peer-seen-critical": 5 * NS}))
    assert ["n3" in breach.text for breach in late] == [True]
    few = stream(sources=(SourceInfo("O"), SourceInfo("P")))
    limits = Thresholds({"min-sources": 2, "max-sources": 1}, own=frozenset({"min-sources"}))
    assert [breach.text for breach in breaches(few, limits)] == ["2 sources where max-sources is 1"]


@pytest.mark.parametrize(
    ("own", "most"),
    [({}, None), ({"critical": "1"}, 1), ({"warn": "5", "critical": "9"}, 5), ({"warn": "9", "critical": "5"}, None)],
)
def test_the_number_of_subjects_that_a_stream_wants_to_be_warned_of(own: dict[str, str], most: int | None) -> None:
    metadata = {"io.nats.monitor.enabled": "true"} | {f"io.nats.monitor.subjects-{key}": own[key] for key in own}
    assert most_subjects(stream(config={"metadata": metadata})) == most


@pytest.mark.parametrize(("own", "text"), [({"min-sources"}, "0 sources where min-sources is 1"), (set(), None)])
def test_a_stream_without_sources_has_too_few_only_by_its_own_threshold(own: set[str], text: str | None) -> None:
    found_by = breaches(stream(), Thresholds({"min-sources": 1}, own=frozenset(own)))
    assert [breach.text for breach in found_by] == ([text] if text else [])


@pytest.mark.parametrize(
    ("policy", "count"), [("all", 9), ("last", None), ("last_per_subject", None), ("by_start_time", 9)]
)
def test_messages_that_no_consumer_claims(policy: str, count: int | None) -> None:
    reader = consumer(config={"deliver_policy": policy}, num_pending=1)
    assert unclaimed(stream(state=StreamState(messages=10, consumer_count=1), consumers=(reader,))) == count


@pytest.mark.parametrize(
    ("replicas", "servers", "survives", "remedy"),
    [
        (2, 2, "no server", {"action": "stream.look_at_replicas"}),
        (2, 3, "no server", {"replicas": 3}),
        (4, 4, "1 server", {"replicas": 3}),
        (4, 5, "1 server", {"replicas": 5}),
        (4, None, "1 server", {"replicas": 5}),
    ],
)
def test_even_numbers_of_replicas(replicas: int, servers: int | None, survives: str, remedy: dict[str, object]) -> None:
    group = Cluster(name="C", leader="n1")
    known = ConnectedServer(cluster="C", connect_urls=tuple(map(str, range(servers)))) if servers else None
    even = stream(config={"num_replicas": replicas}, cluster=group)
    (finding,) = replicas_risky(series(even), None, known)
    assert finding.message == (
        f"R{replicas} survives the loss of {survives}, no more than R{replicas - 1} does, and has one more server that"
        " may fail"
    )
    assert finding.remedy == {"no_ack": False} | remedy


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
        "the stream is full (10 of 10 messages and 100 of 100 bytes) and its discard policy is new: " + silent
    ]
