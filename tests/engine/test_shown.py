"""A check reads a field that the evidence does not show: that subject is not evaluated, all others are."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from jsdoctor.engine.runner import findings_of_shown
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import Finding, Outcome, Subject, passed
from jsdoctor.model.links import Links
from jsdoctor.model.partial import hide
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.server_past import PastSample, ServerPast
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.trend import History, ServerHistory, ServerTrend, Trend
from tests.support.evidence import evidence_of

HOW = "show all of it"
RECORDED = evidence_of({"base": "three-nodes-2.15.1"})
Run = Callable[[EvidenceSet], Iterator[Finding]]


def recorded() -> ClusterSnapshot:
    series = RECORDED.get(SnapshotSeries)
    assert series is not None
    return series.last


def of_kind(kind: type[Evidence], snapshot: ClusterSnapshot) -> EvidenceSet:
    made: dict[type[Evidence], Evidence] = {
        SnapshotSeries: SnapshotSeries((snapshot,)),
        Trend: Trend((snapshot, snapshot)),
        History: History((snapshot, snapshot)),
    }
    return EvidenceSet({kind: made[kind]}, {})


def with_streams(change: Callable[[Stream], Stream]) -> ClusterSnapshot:
    return replace(recorded(), streams=tuple(map(change, recorded().streams)))


def without_limits(*names: str) -> ClusterSnapshot:
    """The recorded streams, of which these do not show their configuration."""
    return with_streams(
        lambda stream: hide(stream, ["config"], stream.subject, HOW) if stream.name in names else stream
    )


def bounded(evidence: EvidenceSet) -> Iterator[Finding]:
    """A check of each stream in each snapshot of any kind of evidence."""
    for kind in (SnapshotSeries, Trend, History):
        known = evidence.get(kind)
        for snapshot in known.snapshots if isinstance(known, SnapshotSeries | Trend | History) else ():
            for stream in snapshot.streams:
                if stream.config.max_bytes == 0:
                    yield Finding(subject=stream.subject)
                else:
                    yield passed(stream.subject)


def outcomes(findings: list[Finding]) -> dict[str, str]:
    return {finding.subject.label: finding.outcome.value for finding in findings}


@pytest.mark.parametrize("kind", [SnapshotSeries, Trend, History])
def test_the_streams_beside_one_that_is_not_shown_are_judged(kind: type[Evidence]) -> None:
    findings = findings_of_shown(bounded, of_kind(kind, without_limits("ORDERS")), {kind})
    expected = {stream.subject.label: "pass" for stream in recorded().streams} | {"APP > ORDERS": "not_evaluated"}
    assert outcomes(findings) == expected
    [unknown] = [finding for finding in findings if finding.outcome is Outcome.NOT_EVALUATED]
    assert unknown.message == "config of APP > ORDERS is not shown in what was given"
    assert unknown.how_to_get == HOW


def test_a_consumer_that_is_not_shown_is_there_all_the_same() -> None:
    hidden = Subject(kind="consumer", account="APP", stream="ORDERS", name="billing")
    seen: list[ClusterSnapshot] = []

    def part(stream: Stream) -> Stream:
        return replace(
            stream,
            consumers=tuple(
                hide(consumer, ["num_pending"], hidden, HOW) if consumer.subject == hidden else consumer
                for consumer in stream.consumers
            ),
        )

    def lagging(evidence: EvidenceSet) -> Iterator[Finding]:
        series = evidence.get(SnapshotSeries)
        assert series is not None
        seen.append(series.last)
        for _, consumer in series.last.led_consumers():
            yield Finding(subject=consumer.subject, measured=consumer.num_pending)

    findings = findings_of_shown(lagging, of_kind(SnapshotSeries, with_streams(part)), {SnapshotSeries})
    assert {finding.subject for finding in findings if finding.outcome is Outcome.FAIL} == {
        consumer.subject for _, consumer in recorded().led_consumers() if consumer.subject != hidden
    }
    assert outcomes(findings)[hidden.label] == "not_evaluated"
    assert [stream.subject for stream in seen[-1].streams] == [stream.subject for stream in recorded().streams]
    assert {stream.name for stream in seen[-1].streams if not stream.consumers_seen} == {"ORDERS"}


def servers() -> tuple[Server, ...]:
    known = RECORDED.get(Servers)
    assert known is not None
    return known.servers


def read_servers(evidence: EvidenceSet) -> Iterator[Finding]:
    """A check of each server in each kind of evidence on servers."""
    for kind in (Servers, ServerTrend, ServerPast):
        known = evidence.get(kind)
        readings: list[Server] = []
        if isinstance(known, Servers):
            readings += known.servers
        elif isinstance(known, ServerTrend):
            readings += (history.last for history in known.servers)
        elif isinstance(known, ServerPast):
            readings += (server for sample in known.samples for server in sample.servers)
        for server in readings:
            yield Finding(subject=server.subject, measured=server.version)


def read_links(evidence: EvidenceSet) -> Iterator[Finding]:
    """A check of the links of each server, now and in the past."""
    known, past = evidence.get(Links), evidence.get(ServerPast)
    links = list(known.servers) if isinstance(known, Links) else []
    links += [each for sample in past.samples for each in sample.links] if isinstance(past, ServerPast) else []
    for each in links:
        yield Finding(subject=each.subject, measured=str(each.routes))


def server_evidence(run: Run) -> Iterator[Evidence]:
    """Each kind of evidence on servers, in which n2 does not show what the check reads."""
    known = RECORDED.get(Links)
    assert known is not None
    n2 = Subject(kind="server", name="n2")
    links, readings = known.servers, servers()
    if run is read_servers:
        readings = tuple(hide(r, ["version"], n2, HOW) if r.name == "n2" else r for r in readings)
        yield Servers(readings)
        yield ServerTrend(tuple(ServerHistory((reading, reading)) for reading in readings))
    else:
        links = tuple(hide(each, ["routes"], n2, HOW) if each.server == "n2" else each for each in links)
        yield Links(links)
    yield ServerPast((PastSample(readings[0].at, readings, links),) * 3)


@pytest.mark.parametrize(
    ("run", "evidence"), [(run, evidence) for run in (read_servers, read_links) for evidence in server_evidence(run)]
)
def test_the_servers_beside_one_that_is_not_shown_are_judged(run: Run, evidence: Evidence) -> None:
    kind = type(evidence)
    findings = findings_of_shown(run, EvidenceSet({kind: evidence}, {}), {kind})
    assert outcomes(findings) == {"n1": "fail", "n3": "fail", "n2": "not_evaluated"}


def test_a_fault_in_what_is_shown_stands_and_is_reported_once() -> None:
    """ORDERS has two faults in what is shown of it, and RING one; the configuration of ORDERS and WORK is not shown."""

    def check(evidence: EvidenceSet) -> Iterator[Finding]:
        series = evidence.get(SnapshotSeries)
        assert series is not None
        for stream in sorted(series.last.streams, key=lambda item: item.name):
            if stream.name in ("ORDERS", "RING"):
                yield Finding(subject=stream.subject, message="full")
            if stream.name == "ORDERS":
                yield Finding(subject=stream.subject, message="old")
            yield from () if stream.config.max_bytes else (Finding(subject=stream.subject, message="no limit"),)
            yield passed(stream.subject)

    findings = findings_of_shown(check, of_kind(SnapshotSeries, without_limits("ORDERS", "WORK")), {SnapshotSeries})
    reported = [(f.subject.name, f.outcome.value, f.message) for f in findings if f.outcome is not Outcome.PASS]
    assert reported == [
        ("ORDERS", "fail", "full"),
        ("ORDERS", "fail", "old"),
        ("RING", "fail", "full"),
        ("WORK", "not_evaluated", "config of APP > WORK is not shown in what was given"),
    ]
    judged = [finding.subject.name for finding in findings if finding.outcome is Outcome.PASS]
    assert sorted(judged) == sorted(
        stream.name for stream in recorded().streams if stream.name not in ("ORDERS", "RING", "WORK")
    )
