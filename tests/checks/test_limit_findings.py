"""What rules on streams say at the bounds of their words: copies of others, limits that are unset, one or just met."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from jsdoctor.checks.stream_limits.mirror_or_source_stalled import mirror_or_source_stalled
from jsdoctor.checks.stream_limits.near_limit import near_limit
from jsdoctor.checks.stream_limits.replicas_risky import Room
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.jetstream import Cluster, Peer, SourceConfig, SourceInfo, StreamConfig, StreamState
from jsdoctor.model.server import (
    ConnectedServer,
    JetStreamDefaults,
    JetStreamStats,
    JetStreamVarz,
    MetaGroup,
    Server,
    Servers,
    Varz,
)
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from tests.checks.snapshots import sample, series, state, texts, two
from tests.checks.values import NOON, params_of
from tests.support.manifest_cases import manifest_evidence_of
from tests.support.ruleset import run_rule

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NS = 1_000_000_000
NONE = StreamState()


def stream(name: str = "S", held: StreamState = NONE, config: dict[str, Any] | None = None, **fields: Any) -> Stream:
    known: dict[str, Any] = {"account": "APP", "at": NOON, "answered_by": "n1", "created": NOON - 9 * HOUR}
    return Stream(name=name, state=held, config=StreamConfig(name=name, **(config or {})), **(known | fields))


def servers(version: str = "", **fields: Any) -> Servers:
    return Servers((Server(name="n1", at=NOON, version=version, **fields),), complete=True)


# Origins of mirrors and sources


SOURCES = {"sources": (SourceConfig("O"),)}


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


O_ = stream("O", HELD)


@pytest.mark.parametrize(("active", "there"), [(0, True), (4.9, True), (5, False)])
def test_an_origin_that_sends_heartbeats_is_there(active: float, *, there: bool) -> None:
    """Though no server that responded shows it: it may be one that nobody was asked about."""
    finding = judged(source_info(active=active), origins=[])
    assert (finding.outcome is not Outcome.FAIL) is there
    if not there:
        assert finding.message == "nothing is copied from O: no server that responded has a stream of that name"


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


# Places for replicas


def room(*known: Server, streams: tuple[Stream, ...] = (), connected: ConnectedServer | None = None) -> Room:
    return Room(sample(*streams), Servers(known, complete=True), connected)


def member(name: str, domain: str = "", cluster: str = "C", size: int | None = None) -> Server:
    meta = None if size is None else MetaGroup(leader="n1", cluster_size=size)
    return Server(name=name, at=NOON, domain=domain, cluster=cluster, jetstream=JetStreamStats(meta_cluster=meta))


def led(*replicas: str, cluster: str = "C", **fields: Any) -> Stream:
    group = Cluster(name=cluster, leader="n1", replicas=tuple(Peer(name=name) for name in replicas))
    return stream(cluster=group, **fields)


def test_a_domain_of_one_server_has_one_place() -> None:
    leaf = member("l1", "leaf", "")
    assert room(leaf).servers_for(stream(domain="leaf")) == 1
    assert room(leaf).servers_for(stream()) == 1
    both = room(member("n1", size=3), leaf)
    assert (both.servers_for(led()), both.servers_for(stream(domain="leaf"))) == (3, 1)


# Limits


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
