"""What rules on streams say at the bounds of their words: copies of others, limits that are unset, one or just met."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from jsdoctor.checks.stream_limits.acked_then_dropped import acked_then_dropped
from jsdoctor.checks.stream_limits.bucket_settings import bucket_settings
from jsdoctor.checks.stream_limits.configuration_contested import configuration_contested
from jsdoctor.checks.stream_limits.copy_limits import copy_limits
from jsdoctor.checks.stream_limits.expiry_stuck import expiry_stuck
from jsdoctor.checks.stream_limits.growth import fills_server_in_ns, only_subjects_bound
from jsdoctor.checks.stream_limits.high_cardinality import high_cardinality
from jsdoctor.checks.stream_limits.jobs_replaced import jobs_replaced
from jsdoctor.checks.stream_limits.many_consumers import many_consumers
from jsdoctor.checks.stream_limits.metadata_threshold import metadata_threshold
from jsdoctor.checks.stream_limits.mirror_or_source_stalled import mirror_or_source_stalled
from jsdoctor.checks.stream_limits.near_limit import near_limit
from jsdoctor.checks.stream_limits.no_ack import no_ack
from jsdoctor.checks.stream_limits.no_stream_for_subject import no_stream_for_subject_logged
from jsdoctor.checks.stream_limits.origin_filters import (
    filters_without_subjects,
    sizes_below_origin,
    starts_past_origin,
)
from jsdoctor.checks.stream_limits.origins import Deployment, Origin, missing, surplus
from jsdoctor.checks.stream_limits.oversize import drops_now, emptied, largest_payload, lets_in_too_large
from jsdoctor.checks.stream_limits.placement import Room
from jsdoctor.model.finding import Confidence, Finding, Outcome, Severity
from jsdoctor.model.histogram import Histogram
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
from jsdoctor.model.log import LogEvidence, LogFile, LogTime, Occurrence
from jsdoctor.model.partial import hide
from jsdoctor.model.server import (
    ConnectedServer,
    JetStreamConfig,
    JetStreamDefaults,
    JetStreamStats,
    JetStreamVarz,
    MetaGroup,
    Server,
    Servers,
    Varz,
)
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import StreamHistory, Trend
from tests.checks.snapshots import sample, series, state, texts, two
from tests.checks.values import NOON, params_of
from tests.support.manifest_cases import manifest_evidence_of
from tests.support.ruleset import run_rule

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
NS = 1_000_000_000
NONE = StreamState()


def stream(name: str = "S", held: StreamState = NONE, config: dict[str, Any] | None = None, **fields: Any) -> Stream:
    known: dict[str, Any] = {"account": "APP", "at": NOON, "answered_by": "n1", "created": NOON - 9 * HOUR}
    return Stream(name=name, state=held, config=StreamConfig(name=name, **(config or {})), **(known | fields))


def servers(version: str = "", **fields: Any) -> Servers:
    return Servers((Server(name="n1", at=NOON, version=version, **fields),), complete=True)


# Origins of mirrors and sources


def origin(error: object) -> Origin:
    return Origin(SourceInfo("O", error=error))


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (None, 0, "an error without a text"),
        ("timeout", 0, "timeout"),
        ({"err_code": 10059, "description": "stream not found"}, 10059, "stream not found (error 10059)"),
        ({"description": "stream not found"}, 0, "stream not found"),
        ({"err_code": 10059}, 10059, "an error without a text (error 10059)"),
        ({"err_code": "x", "description": "odd"}, 0, "odd"),
    ],
)
def test_errors_of_origins(error: object, code: int, text: str) -> None:
    assert (origin(error).error_code, origin(error).error_text) == (code, text)


def deployment(version: str = "", *streams: Stream, connected: str | None = None) -> Deployment:
    known = ConnectedServer(version=connected) if connected is not None else None
    return Deployment(series(*streams), servers(version) if version else None, known)


SOURCES = {"sources": (SourceConfig("O"),)}


@pytest.mark.parametrize(
    ("version", "replicas", "stops"),
    [
        ("2.12.7", 1, True),
        ("2.12.8", 1, False),
        ("2.12.7", 2, False),
        ("", 1, False),
    ],
)
def test_versions_that_a_repeated_id_stops(version: str, replicas: int, *, stops: bool) -> None:
    copy = stream(config={"num_replicas": replicas})
    assert deployment(version).stops_at_repeated_ids(copy) is stops
    assert deployment(connected=version).stops_at_repeated_ids(copy) is stops


@pytest.mark.parametrize(("version", "again"), [("2.10.26", True), ("2.11.0", False), ("", False)])
def test_versions_whose_count_starts_again(version: str, *, again: bool) -> None:
    assert deployment(version).counts_again(stream(config=SOURCES)) is again
    assert not deployment(version).counts_again(stream(config={"mirror": SourceConfig("O")}))


def test_a_name_that_is_used_in_another_account_too_is_not_looked_for() -> None:
    elsewhere = SourceConfig("O", external=ExternalStream("$JS.hub.API"))
    copy = stream(config={"sources": (elsewhere, SourceConfig("P"))})
    assert not deployment().has_no(copy, "O")
    assert deployment().has_no(copy, "P")
    assert not deployment("", stream("P")).has_no(copy, "P")


def stalled(
    config: dict[str, Any],
    before: Iterable[Stream],
    now: Iterable[Stream],
    *,
    apart: timedelta = MINUTE,
    version: str = "2.12.7",
    last: int = 100,
) -> tuple[int, float] | None:
    """Messages that a copy which stays at its last message does not get, and for how many seconds."""
    held = state(last, 1, last)
    first, copy = stream("COPY", held, config, at=NOON - apart), stream("COPY", held, config)
    trend = two([first, *before], [copy, *now])
    known = Deployment(SnapshotSeries(trend.snapshots), servers(version), None)
    lost = missing(StreamHistory((first, copy)), known)
    return (lost.count, lost.for_ns / NS) if lost else None


MIRROR = {"mirror": SourceConfig("O")}


def test_how_long_messages_of_an_origin_are_missing() -> None:
    def behind(before: StreamState, now: StreamState, apart: timedelta = MINUTE) -> tuple[int, float] | None:
        return stalled(MIRROR, [stream("O", before, at=NOON - apart)], [stream("O", now)], apart=apart)

    grown, whole = state(160, 1, 160), state(130, 1, 130)
    assert behind(whole, grown) == (30, 120.0)
    assert behind(whole, state(131, 1, 131)) == (30, 60.0 * 31)
    old = state(130, 1, 130, last_ts=NOON - HOUR)
    assert behind(old, old) == (30, 3600.0)
    assert behind(whole, whole) == (30, 60.0)
    assert behind(whole, whole, SECOND / 2) == (30, 0.5)
    assert behind(state(100, 1, 100), grown) is None
    assert behind(state(30, 101, 130), state(30, 101, 130)) == (30, 60.0)
    assert behind(state(30, 102, 131), state(30, 102, 131)) == (30, 60.0)
    assert stalled(MIRROR, [stream("O", whole)], []) is None


def test_what_several_sources_had_is_counted_together() -> None:
    held = [stream("O", state(90, 1, 90)), stream("P", state(40, 1, 40))]
    every = (SourceConfig("O"), SourceConfig("P"))
    assert stalled({"sources": every}, held, held) == (30, 60.0)
    part = (SourceConfig("O"), SourceConfig("P", filter_subject="a"))
    assert stalled({"sources": part}, held, held) is None
    assert stalled({"sources": every}, held, held, version="2.12.8") is None


@pytest.mark.parametrize(("held", "more"), [(state(5, 1, 5), 0), (state(6, 1, 5), 1), (state(9, 3, 5), 6), (NONE, 0)])
def test_a_mirror_with_more_messages_than_sequences(held: StreamState, more: int) -> None:
    assert surplus(stream("M", held, MIRROR)) == more
    assert surplus(stream("M", held, SOURCES)) == 0


def wanting(*sources: SourceConfig, held: StreamState = NONE, **config: Any) -> Stream:
    return stream("COPY", held, {"sources": sources} | config)


def transformed(*sources: str) -> SourceConfig:
    return SourceConfig("O", subject_transforms=tuple(SubjectTransform(text, "x.>") for text in sources))


def test_filters_that_no_subject_of_the_origin_matches() -> None:
    held = stream("O", config={"subjects": ("a", "b", "c", "d")})

    def words(source: SourceConfig) -> list[str]:
        return [text for _, text in filters_without_subjects(wanting(source), deployment("", held))]

    assert words(SourceConfig("O", filter_subject="z")) == [
        "it takes 'z' of O, which stores a, b, c: no message is ever copied"
    ]
    assert words(transformed("w", "x", "y", "z")) == [
        "it takes 'w', 'x', 'y' of O, which stores a, b, c: no message is ever copied"
    ]
    assert words(transformed("w", "a")) == []
    assert words(transformed("")) == []
    assert words(SourceConfig("O")) == []


def test_copies_that_start_behind_the_end_of_their_origin() -> None:
    held = stream("O", state(9, 1, 9))
    sources = (SourceConfig("GONE", opt_start_seq=99), SourceConfig("O", opt_start_seq=11))
    results = list(starts_past_origin(wanting(*sources), deployment("", held)))
    assert [name for name, _, _ in results] == ["O"]
    assert results[0][1] == "it starts at message 11 of O, which ends at 9: what comes before is not copied"
    next_one = wanting(SourceConfig("O", opt_start_seq=10))
    assert list(starts_past_origin(next_one, deployment("", held))) == []
    later = wanting(SourceConfig("O", opt_start_time=NOON + HOUR))
    assert [severity for _, _, severity in starts_past_origin(later, deployment("", held))] == [Severity.INFO]
    now = wanting(SourceConfig("O", opt_start_time=NOON))
    assert list(starts_past_origin(now, deployment("", held))) == []


@pytest.mark.parametrize(
    ("limit", "of_origin", "theirs"),
    [
        (-1, -1, None),
        (0, -1, None),
        (1, -1, "any size"),
        (100, 0, "any size"),
        (100, 1, None),
        (100, 100, None),
        (100, 101, "101 bytes"),
    ],
)
def test_copies_that_take_smaller_messages(limit: int, of_origin: int, theirs: str | None) -> None:
    held = stream("O", config={"max_msg_size": of_origin})
    results = [
        text for _, text in sizes_below_origin(wanting(SourceConfig("O"), max_msg_size=limit), deployment("", held))
    ]
    wanted = (
        f"it takes messages of up to {limit:,} bytes, and O those of {theirs}: larger ones are not copied, and no lag"
    )
    assert results == ([f"{wanted} is reported"] if theirs else [])


HELD = state(100, 1, 100)


def judged(
    *infos: SourceInfo,
    before: tuple[SourceInfo, ...] | None = None,
    config: dict[str, Any] | None = None,
    held: StreamState = HELD,
    origins: Iterable[Stream] = (),
    version: str = "",
    apart: timedelta = MINUTE,
    **given: Any,
) -> Finding:
    """A stream with these sources, in two samples, beside origins that stay as they are."""
    names = tuple(SourceConfig(info.name) for info in infos)
    settings = {"sources": names} if config is None else config
    earlier = infos if before is None else before
    first = stream("COPY", held, settings, sources=earlier, at=NOON - apart)
    copy = stream("COPY", held, settings, sources=infos)
    if "mirror" in settings:
        first, copy = (
            stream("COPY", held, settings, mirror=info, at=at)
            for info, at in ((earlier[0], NOON - apart), (infos[0], NOON))
        )
    trend = two([first, *origins], [copy, *origins])
    snapshots = SnapshotSeries(trend.snapshots)
    known = servers(version) if version else None
    results = mirror_or_source_stalled(snapshots, trend, known, None, params_of("JSD607", **given))
    (finding,) = (item for item in results if item.subject.name == "COPY")
    return finding


def source_info(name: str = "O", active: float = 1, **fields: Any) -> SourceInfo:
    return SourceInfo(name, active_ns=int(active * NS), **fields)


O_, P_ = stream("O", HELD), stream("P", NONE)


def test_one_of_two_origins_was_not_heard_yet() -> None:
    never = SourceInfo("P", active_ns=-1)
    finding = judged(source_info(), never, origins=[O_, P_], before=(source_info(), source_info("P")))
    assert finding.outcome is Outcome.NOT_EVALUATED
    assert finding.message.startswith("its leader has had no contact with its origin yet")


@pytest.mark.parametrize(("active", "there"), [(0, True), (4.9, True), (5, False)])
def test_an_origin_that_sends_heartbeats_is_there(active: float, *, there: bool) -> None:
    """Though no server that responded shows it: it may be one that nobody was asked about."""
    finding = judged(source_info(active=active), origins=[])
    assert (finding.outcome is not Outcome.FAIL) is there
    if not there:
        assert finding.message == "nothing is copied from O: no server that responded has a stream of that name"


def test_how_silence_and_errors_become_errors() -> None:
    error = {"err_code": 10008, "description": "no responders"}
    warn = params_of("JSD607").integer("warn_silence") / NS
    fails = [judged(source_info(active=active, error=error), origins=[O_]).severity for active in (warn - 1, warn)]
    assert fails == [Severity.WARNING, None]
    own = {"sources": (SourceConfig("O"),), "metadata": MONITORED | {"io.nats.monitor.seen-critical": "20s"}}
    assert judged(source_info(active=20), origins=[O_], config=own).severity is None
    assert judged(source_info(active=19), origins=[O_], config=own).severity is not None


MONITORED = {"io.nats.monitor.enabled": "true"}


def test_origins_that_fail_are_named_in_order() -> None:
    names = ("F", "B", "E", "A", "D", "C")
    infos = tuple(source_info(name, error="timeout") for name in names)
    finding = judged(*infos, origins=[stream(name) for name in names])
    assert finding.remedy == {"origins": sorted(names)}


def test_silence_goes_on_when_its_count_starts_again() -> None:
    """A server of 2.10 counts from 0 again with each attempt to reach the origin."""
    readings = [
        stream("COPY", HELD, SOURCES, sources=(source_info(active=active),), at=NOON + number * MINUTE)
        for number, active in enumerate((4, 4, 0))
    ]
    trend = Trend(tuple(sample(reading, O_) for reading in readings))
    snapshots = SnapshotSeries(trend.snapshots)
    results = mirror_or_source_stalled(snapshots, trend, servers("2.10.26"), None, params_of("JSD607"))
    (text,) = (finding.message for finding in results if finding.subject.name == "COPY")
    assert text.startswith("O was last seen 1m4s ago, not even its heartbeat")


def test_a_lag_needs_two_readings_of_the_same_source() -> None:
    lag = params_of("JSD607").integer("warn_lag")
    late = source_info(lag=lag)
    assert judged(late, origins=[O_]).message == f"it is {lag:,} messages behind O and nothing was copied within 1m"
    assert judged(late, before=(source_info("OTHER"),), origins=[O_]).outcome is Outcome.PASS
    assert judged(source_info(lag=lag + 1), before=(late,), origins=[O_]).outcome is Outcome.FAIL
    assert judged(source_info(lag=lag), before=(source_info(lag=lag + 1),), origins=[O_]).outcome is Outcome.PASS


def test_what_sources_do_not_get_is_reported_once_it_lasts() -> None:
    names = ("D", "C", "B", "A")
    origins = [stream(name, state(40, 1, 40, last_ts=NOON - HOUR)) for name in names]
    lags = (3, 9, 5, 1)
    infos = tuple(source_info(name, lag=lag) for name, lag in zip(names, lags, strict=True))
    finding = judged(*infos, origins=origins, version="2.12.7", min_stall="1h")
    assert finding.message == (
        "its lag is 9, but 60 messages of its origins did not arrive and nothing moves, as before 2.12.8 at an id that"
        " was seen before; if the log of its server has 'msgid is duplicate', a duplicate window of 100ms lets it go on"
        " within seconds; then upgrade to 2.14"
    )
    assert finding.remedy == {"origins": ["A", "B", "C"]}
    soon = judged(*infos, origins=origins, version="2.12.7", min_stall="3601s")
    assert soon.outcome is Outcome.NOT_EVALUATED


def test_a_mirror_that_went_on_with_another_origin() -> None:
    mixed = state(9, 3, 5)
    finding = judged(source_info(active=0), config=MIRROR, held=mixed, origins=[])
    assert finding.message == (
        "it holds 9 messages in 3 sequences: it went on with an origin that was recreated, and messages of both are"
        " mixed"
    )
    assert finding.remedy == {"origins": [], "some_are_missing": True}
    assert judged(source_info(), config=MIRROR, held=mixed, origins=[O_]).remedy == {"origins": ["O"]}


# Places for replicas


def room(*known: Server, streams: tuple[Stream, ...] = (), connected: ConnectedServer | None = None) -> Room:
    return Room(sample(*streams), Servers(known, complete=True), connected)


def member(name: str, domain: str = "", cluster: str = "C", size: int | None = None) -> Server:
    meta = None if size is None else MetaGroup(leader="n1", cluster_size=size)
    return Server(name=name, at=NOON, domain=domain, cluster=cluster, jetstream=JetStreamStats(meta_cluster=meta))


def led(*replicas: str, cluster: str = "C", **fields: Any) -> Stream:
    group = Cluster(name=cluster, leader="n1", replicas=tuple(Peer(name=name) for name in replicas))
    return stream(cluster=group, **fields)


@pytest.mark.parametrize(("size", "exact"), [(0, False), (1, True), (3, True)])
def test_a_meta_group_that_counts_nobody_proves_nothing(size: int, *, exact: bool) -> None:
    assert room(member("n1", size=size)).is_exact(led()) is exact


def test_servers_that_a_plain_login_shows() -> None:
    urls = ConnectedServer(cluster="C", connect_urls=("a", "b", "c"))
    assert room(connected=urls).servers_for(led()) == 3
    assert room(connected=urls).servers_for(led(cluster="OTHER")) is None
    single = ConnectedServer(connect_urls=("a", "b", "c"))
    assert room(connected=single).servers_for(stream()) == 3
    assert room(connected=urls, streams=(led("n2"),)).servers_for(led()) == 3
    proven = led("n2", "n3", "n4")
    assert room(connected=urls, streams=(proven,)).servers_for(proven) == 4
    assert room(streams=(led("n2"),)).servers_for(led()) == 2
    assert room(streams=(proven, led("n2"))).servers_for(led()) == 4
    assert room(streams=(led(),)).servers_for(led()) is None
    assert room(streams=(led("n2", from_leader=False),)).servers_for(led()) is None
    assert room(streams=(led("n2", cluster=""),)).servers_for(led()) is None


def test_a_domain_of_one_server_has_one_place() -> None:
    leaf = member("l1", "leaf", "")
    assert room(leaf).servers_for(stream(domain="leaf")) == 1
    assert room(leaf).servers_for(stream()) == 1
    both = room(member("n1", size=3), leaf)
    assert (both.servers_for(led()), both.servers_for(stream(domain="leaf"))) == (3, 1)


# Limits


def test_only_the_number_of_subjects_bounds_it() -> None:
    def bound(**config: Any) -> bool:
        return only_subjects_bound(StreamConfig(name="S", max_msgs_per_subject=1, **config))

    assert bound()
    assert bound(max_msgs=0)
    assert not bound(max_msgs=1)
    assert not bound(allow_msg_ttl=True)
    assert not only_subjects_bound(StreamConfig(name="S", max_msgs_per_subject=0))
    assert not only_subjects_bound(StreamConfig(name="S"))


def test_when_a_server_is_full() -> None:
    def left(limits: JetStreamConfig, held: int = 10, storage: str = "file") -> float | None:
        stats = JetStreamStats(config=limits, memory=100, storage=200)
        kept = StreamState(messages=1, bytes=held, first_ts=NOON - HOUR)
        full = fills_server_in_ns(stream("S", kept, {"storage": storage}), servers(jetstream=stats), 0)
        return None if full is None else full / NS

    limits = JetStreamConfig(max_storage=300, max_memory=400)
    assert left(limits) == 36_000
    assert left(limits, storage="memory") == 108_000
    assert left(limits, held=1) == 360_000
    assert left(limits, held=0) is None
    assert left(JetStreamConfig(max_storage=200)) == 0
    assert left(JetStreamConfig(max_storage=100)) == 0
    assert left(JetStreamConfig(max_storage=1)) == 0
    assert left(JetStreamConfig(max_storage=0)) is None
    assert left(JetStreamConfig(max_storage=1 << 63)) is None
    assert left(JetStreamConfig(max_storage=(1 << 63) - 1)) is not None


def test_a_server_without_a_default_limits_no_consumers() -> None:
    def message(varz: Varz | None) -> list[str]:
        many = stream("S", StreamState(consumer_count=50))
        return texts(near_limit(series(many), None, servers(varz=varz), params_of("JSD602", min_consumers=1)))

    assert message(None) == []
    assert message(Varz(jetstream=JetStreamVarz())) == []
    assert message(Varz(jetstream=JetStreamVarz(JetStreamDefaults(default_max_consumers=50)))) == [
        "50 of 50 consumers (default_max_consumers) are used: at the limit no further consumer can be created"
    ]
    other = near_limit(
        series(stream("S", StreamState(consumer_count=50))), None, None, params_of("JSD602", min_consumers=1)
    )
    assert texts(other) == []


@pytest.mark.parametrize(
    ("sizes", "largest"), [((), None), ((0,), None), ((1,), 1), ((1_000, 2_000), 2_000), ((0, 500), 500)]
)
def test_the_largest_payload_that_a_server_takes(sizes: tuple[int, ...], largest: int | None) -> None:
    known = Servers(tuple(Server(name="n", at=NOON, varz=Varz(max_payload=size)) for size in sizes))
    assert largest_payload(known, None) == largest
    assert largest_payload(None, ConnectedServer(max_payload=7)) == 7


@pytest.mark.parametrize(
    ("size", "payload", "lets_in"),
    [(-1, 1_000, True), (0, 1_000, True), (1, 1_000, False), (-1, 50, False), (-1, None, None)],
)
def test_messages_that_are_larger_than_their_stream(size: int, payload: int | None, *, lets_in: bool | None) -> None:
    assert lets_in_too_large(StreamConfig(name="S", max_bytes=100, max_msg_size=size), payload, 50) is lets_in


def test_an_empty_stream_whose_last_message_may_have_expired() -> None:
    def empty(age: timedelta, max_age: int) -> bool:
        return emptied(stream("S", state(0, 10, 9, last_ts=NOON - age), {"max_age_ns": max_age}))

    assert empty(MINUTE, 0)
    assert empty(MINUTE, 60 * NS + 1)
    assert not empty(MINUTE, 60 * NS)
    assert not empty(MINUTE, 59 * NS)


def test_messages_that_come_and_are_gone_at_once() -> None:
    def drops(max_age: int) -> bool:
        config = {"max_age_ns": max_age}
        before, now = stream("S", state(0, 10, 9), config, at=NOON - MINUTE), stream("S", state(0, 20, 19), config)
        return drops_now(StreamHistory((before, now)))

    assert [drops(age) for age in (0, 1, 60 * NS, 60 * NS + 1)] == [True, False, False, True]
    assert not drops_now(None)


def test_the_size_that_a_stream_should_refuse() -> None:
    def offered(limit: int) -> object:
        full = stream(config={"max_bytes": limit})
        (finding,) = acked_then_dropped(
            series(full), None, None, ConnectedServer(max_payload=1 << 20), params_of("JSD612")
        )
        return finding.remedy["max_msg_size"]

    assert [offered(limit) for limit in (1_000, 2_048, 10_000)] == [500, 1_024, 8_976]


def expiring(oldest: timedelta | None, newest: timedelta | None, **config: Any) -> Finding:
    dates = {
        "first_ts": None if oldest is None else NOON - oldest,
        "last_ts": None if newest is None else NOON - newest,
    }
    held = state(5, 1, 5, **dates)
    (finding,) = expiry_stuck(series(stream("S", held, {"max_age_ns": 60 * NS} | config)), None, params_of("JSD611"))
    return finding


def test_messages_that_do_not_expire_behind_one_of_the_future() -> None:
    future = "messages 5h old are still stored although max_age is 1m: the first message is dated in the future"
    assert expiring(-2 * SECOND, 5 * HOUR).message == f"{future} and nothing behind it expires"
    assert expiring(-SECOND, 5 * HOUR).message == "messages 5h old are still stored although max_age is 1m"
    assert expiring(-2 * SECOND, None).outcome is Outcome.NOT_EVALUATED
    assert expiring(-SECOND, None).outcome is Outcome.PASS
    assert expiring(None, None).outcome is Outcome.PASS


def copying(mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    known = stream("O", state(7, 1, 7), theirs), stream("COPY", state(5, 1, 5), MIRROR | mine)
    return texts(item for item in copy_limits(series(*known)) if item.subject.name == "COPY")[0]


def test_limits_of_a_copy_beside_those_of_its_origin() -> None:
    head, tail = "it keeps other messages than what it copies: ", ". Now it has 5 messages, with 7 messages in O"
    assert copying({"max_msgs": 1}, {}) == f"{head}max_msgs is 1, that of O unlimited{tail}"
    assert copying({"max_msgs": 1}, {"max_msgs": 0}) == f"{head}max_msgs is 1, that of O unlimited{tail}"
    assert copying({"max_msgs": 1}, {"max_msgs": 2}) == f"{head}max_msgs is 1, that of O 2{tail}"
    assert copying({"max_msgs": 5}, {"max_msgs": 1}) == "pass"
    assert copying({"max_msgs": 5}, {"max_msgs": 5}) == "pass"
    assert copying({"max_msgs": 0}, {"max_msgs": 5}) == "pass"
    ages = copying({"max_age_ns": 0, "max_msgs": 3}, {"max_age_ns": 60 * NS})
    assert ages == f"{head}max_age is unlimited, that of O 1m; max_msgs is 3, that of O unlimited{tail}"


def contested(*configs: dict[str, Any]) -> Finding:
    readings = [stream(config=config, at=NOON + number * SECOND) for number, config in enumerate(configs)]
    (finding,) = configuration_contested(Trend(tuple(map(sample, readings))), params_of("JSD624"))
    return finding


def test_settings_that_differ_between_samples() -> None:
    fields: list[dict[str, Any]] = [
        {"max_msgs": number, "max_bytes": number, "description": str(number), "no_ack": bool(number % 2)}
        for number in range(1, 5)
    ]
    names = "description, max_bytes, max_msgs, no_ack"
    pair = contested(*fields[:2])
    assert pair.outcome is Outcome.NOT_EVALUATED
    assert pair.message == (
        f"its configuration ({names}) differs between the two samples: whether it is changed back shows in more of them"
    )
    back = contested(*fields, fields[0])
    assert back.message.startswith(
        "its configuration was changed 4 times within 4s and returned to what it was"
        ' (description: "1" and "2" and "3"; max_bytes: 1 and 2 and 3; max_msgs: 1 and 2 and 3; no_ack: true and'
        " false): "
    )
    assert contested(fields[0], fields[0]).outcome is Outcome.PASS
    assert contested(fields[0], fields[1], fields[2]).outcome is Outcome.PASS


def test_subjects_that_the_limits_of_a_stream_allow() -> None:
    def outcome(subjects: int, config: dict[str, Any], **given: Any) -> Outcome:
        held = StreamState(messages=9, num_subjects=subjects)
        (finding,) = high_cardinality(series(stream("S", held, config)), params_of("JSD606", **given))
        return finding.outcome

    default = params_of("JSD606").integer("warn_subjects")
    assert outcome(default, {}) is Outcome.FAIL
    assert outcome(default - 1, {}) is Outcome.PASS
    assert outcome(50, {}, warn_subjects=50) is Outcome.FAIL
    assert outcome(49, {}, warn_subjects=50) is Outcome.PASS
    own = {"metadata": MONITORED | {"io.nats.monitor.subjects-critical": "70"}}
    assert outcome(60, own, warn_subjects=50) is Outcome.FAIL


@pytest.mark.parametrize(("replicas", "raft"), [(1, False), (2, True), (3, True)])
def test_many_consumers_of_replicated_streams_are_raft_groups(replicas: int, *, raft: bool) -> None:
    held = stream("S", StreamState(consumer_count=9), {"num_replicas": replicas})
    (text,) = texts(many_consumers(series(held), params_of("JSD616", many=9)))
    assert text.endswith(f" With R{replicas}, each durable one is a Raft group of its own.") is raft


def test_the_most_severe_breach_of_own_thresholds_leads() -> None:
    metadata = MONITORED | {
        "io.nats.monitor.msgs-warn": "5",
        "io.nats.monitor.peer-expect": "3",
        "io.nats.monitor.subjects-warn": "2",
        "io.nats.monitor.subjects-critical": "4",
    }
    held = stream("S", StreamState(messages=1, num_subjects=9), {"metadata": metadata})
    (finding,) = metadata_threshold(series(held), params_of("JSD608"))
    assert finding.severity is None
    assert len(finding.message.split("; ")) > 1


def test_a_stream_without_acks_whose_subjects_are_not_shown() -> None:
    whole = stream(config={"no_ack": True, "subjects": ("a",)})
    hidden = hide(whole.config, ("subjects",), whole.subject, "copy all of it")
    for config, confidence in ((whole.config, Confidence.HIGH), (hidden, Confidence.MEDIUM)):
        (finding,) = no_ack(series(msgspec.structs.replace(whole, config=config)))
        assert finding.confidence is confidence


def replaced(*, before: bool = True, now: bool = True) -> int | float | str | None:
    config = {"retention": "workqueue", "max_msgs_per_subject": 1}
    first = stream("S", state(10, 1, 10), config, consumers_seen=before, at=NOON - MINUTE)
    last = stream("S", state(10, 91, 100), config, consumers_seen=now)
    snapshots = SnapshotSeries((sample(first), sample(last)))
    (finding,) = jobs_replaced(snapshots, params_of("JSD630", min_messages=1))
    return finding.measured


def test_jobs_that_left_a_queue_count_where_all_consumers_were_seen() -> None:
    assert [replaced(), replaced(before=False), replaced(now=False)] == [90, 0, 0]


def unacknowledged(count: int, before_the_end: timedelta) -> Severity | None:
    end = LogTime(int(NOON.timestamp()) * 1_000_000, zoned=True)
    us = end.us - before_the_end // timedelta(microseconds=1)
    item = Occurrence(
        signature="client-no-response-from-stream",
        logged_by="app",
        count=count,
        dated=count,
        zoned=True,
        histogram=Histogram.of([(us, us, count)]),
    )
    files = (LogFile(path="app.log", size=1, client_lines=9, last=end),)
    (finding,) = no_stream_for_subject_logged(LogEvidence(files=files, found=(item,)))
    return finding.severity


def test_publishes_without_a_stream_that_are_few_and_long_ago() -> None:
    assert unacknowledged(9, HOUR) is Severity.INFO
    assert unacknowledged(10, HOUR) is None
    assert unacknowledged(1, MINUTE) is None
    assert unacknowledged(1, MINUTE + SECOND) is Severity.INFO


def watched(**config: Any) -> list[str]:
    settings = {"subjects": ("$KV.B.>",), "max_msgs_per_subject": 1, "allow_rollup_hdrs": True, "discard": "new"}
    level = {"metadata": {"_nats.req.level": "1"}}
    watcher = Consumer(
        account="APP",
        stream="KV_B",
        name="w",
        config=ConsumerConfig(deliver_subject="_INBOX.1"),
        delivered=SequencePair(),
        ack_floor=SequencePair(),
        at=NOON,
    )
    bucket = stream("KV_B", NONE, settings | level | config, consumers=(watcher,))
    return texts(bucket_settings(series(bucket), params_of("JSD626")))


def test_watchers_that_cannot_notice_what_expires() -> None:
    assert watched(max_age_ns=NS) == ["values expire after 1s without a marker, so that 1 watcher of it cannot notice"]
    assert watched(max_age_ns=0) == ["pass"]
    assert watched(max_age_ns=NS, subject_delete_marker_ttl_ns=NS) == ["pass"]
    assert watched(max_age_ns=NS, metadata={}) == ["pass"]


def test_the_most_severe_flaw_of_a_bucket_decides() -> None:
    bucket = stream("KV_B", NONE, {"subjects": ("$KV.B.>",), "max_msgs_per_subject": 2, "allow_msg_ttl": True})
    (finding,) = bucket_settings(series(bucket), params_of("JSD626"))
    assert (finding.severity, finding.measured) == (Severity.WARNING, 2)


# Manifests


def stream_manifest(name: str, **spec: object) -> str:
    lines = "".join(f"  {key}: {value}\n" for key, value in spec.items())
    head = "apiVersion: jetstream.nats.io/v1beta2\nkind: Stream\nmetadata: {name: x}\nspec:\n"
    return f"{head}  name: {name}\n{lines}"


def consumer_manifest(name: str, of: str) -> str:
    head = "apiVersion: jetstream.nats.io/v1beta2\nkind: Consumer\nmetadata: {name: x}\nspec:\n"
    return f"{head}  streamName: {of}\n  durableName: {name}\n  ackPolicy: explicit\n"


def declared(code: str, *manifests: str, base: str = "", **given: Any) -> dict[str, str]:
    case: dict[str, Any] = {"text": {"s.yaml": "---\n".join(manifests)}} | ({"base": base} if base else {})
    evaluation = run_rule(code, manifest_evidence_of(case), given, keep_passes=True)
    return {
        result.finding.subject.name: result.finding.message or result.finding.outcome.value
        for result in evaluation.results
    }


def test_consumers_that_manifests_want_of_a_limit() -> None:
    def wanted(most: int, count: int, **given: Any) -> str | None:
        consumers = [consumer_manifest(f"c{number}", "S") for number in range(count)]
        free = stream_manifest("FREE", subjects='["a"]', maxConsumers=0)
        return declared(
            "JSD602", free, stream_manifest("S", subjects='["b"]', maxConsumers=most), *consumers, **given
        ).get("S")

    given = {"min_consumers": 4, "warn_fraction": 0.75}
    refused = "the server refuses the last of them (error 10026)"
    assert wanted(4, 3, **given) == "3 consumers will want a place and max_consumers is 4: few more can be created"
    assert wanted(4, 2, **given) == "pass"
    assert wanted(3, 3, **given) == "pass"
    assert wanted(3, 4, **given) == f"4 consumers will want a place and max_consumers is 3: {refused}"
    assert wanted(1, 2, **given) == f"2 consumers will want a place and max_consumers is 1: {refused}"
    assert wanted(0, 2, **given) is None


def test_streams_that_shall_not_acknowledge() -> None:
    results = declared(
        "JSD610",
        stream_manifest("EMPTY", mirror="{name: O}", noAck="true"),
        stream_manifest("ALL", subjects='[">"]', noAck="true"),
        stream_manifest("SYSTEM", subjects='["$JS.EVENT.>", "$SYS.>"]', noAck="true"),
        stream_manifest("MIXED", subjects='["$JS.EVENT.>", "orders"]', noAck="true"),
        stream_manifest("ACKED", subjects='["b"]'),
    )
    assert {name: text[:10] for name, text in results.items()} == {
        "ALL": "pass",
        "SYSTEM": "pass",
        "MIXED": "no_ack is ",
        "ACKED": "pass",
    }


def test_limits_whose_discard_policy_is_not_stated() -> None:
    results = declared(
        "JSD609",
        stream_manifest("COPY", mirror="{name: O}", maxMsgs=5),
        stream_manifest("ONE", subjects='["a"]', maxMsgs=1),
        stream_manifest("NONE", subjects='["b"]', maxMsgs=0),
        stream_manifest("JOBS", subjects='["c"]', maxMsgs=5, retention="workqueue"),
    )
    text = (
        "max_msgs is set and the discard policy is not: by default a full stream deletes {} silently; write"
        " discard: old if that is intended, discard: new if publishers shall be refused"
    )
    assert results == {
        "ONE": text.format("the oldest messages"),
        "JOBS": text.format("messages that no consumer has processed yet"),
    }


def test_streams_that_are_not_judged_before_one_that_is() -> None:
    results = declared(
        "JSD612",
        stream_manifest("FREE", subjects='["a"]', maxBytes=0),
        stream_manifest("SMALL", subjects='["b"]', maxBytes=1),
        stream_manifest("S", subjects='["c"]', maxBytes=1000),
    )
    assert list(results) == ["SMALL", "S"]
    assert results["S"].endswith("at once: set max_msg_size to 500 or less, and they are refused instead")


def test_overlaps_with_more_than_three_streams() -> None:
    def text(*names: str) -> str:
        streams = [stream_manifest(name, subjects=f'["a.{name.lower()}"]') for name in names]
        return declared("JSD614", stream_manifest("ALL", subjects='["a.>"]'), *streams)["ALL"]

    assert "more stream" not in text("B", "C", "D")
    assert "its subjects overlap with those of 1 more stream" in text("B", "C", "D", "E")
    assert "its subjects overlap with those of 2 more streams" in text("B", "C", "D", "E", "F")
