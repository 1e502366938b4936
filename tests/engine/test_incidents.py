"""Findings become incidents: one cause each, nothing lost, nothing linked that has nothing in common."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.checks.stream_limits.replicas_risky import replicas_risky
from jsdoctor.engine.incidents import incidents
from jsdoctor.engine.loader import PageText, cause_graph_misfits, load_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Confidence, Finding, Impact, Observation, Outcome, Severity, Subject
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, Peer, SequencePair, StreamConfig, StreamState
from jsdoctor.model.report import Incident, Result
from jsdoctor.model.rule import Explanation, Relation, Rule
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream, UnresponsiveAsset
from jsdoctor.parse.front_matter import PageError
from tests.support.ruleset import rules

NOW = datetime(2026, 11, 22, 3, 4, 5, tzinfo=UTC)
RULES = {rule.code: rule for rule in rules()}


def server(name: str) -> Subject:
    return Subject(kind="server", name=name)


def stream(name: str, account: str = "APP") -> Subject:
    return Subject(kind="stream", name=name, account=account)


def consumer(of: str, name: str, account: str = "APP") -> Subject:
    return Subject(kind="consumer", name=name, account=account, stream=of)


def failed(code: str, subject: Subject, message: str = "", **more: object) -> Result:
    return Result(RULES[code], Finding(subject=subject, message=message, **more))  # type: ignore[arg-type]


def placed(name: str, leader: str, *others: str, retention: str = "limits", consumers: tuple[str, ...] = ()) -> Stream:
    cluster = Cluster(name="c", leader=leader, replicas=tuple(Peer(name=other) for other in others))
    position = SequencePair()
    return Stream(
        account="APP",
        name=name,
        config=StreamConfig(name=name, retention=retention),
        state=StreamState(),
        cluster=cluster,
        at=NOW,
        consumers=tuple(
            Consumer(
                account="APP",
                stream=name,
                name=consumer,
                config=ConsumerConfig(durable_name=consumer),
                delivered=position,
                ack_floor=position,
                at=NOW,
            )
            for consumer in consumers
        ),
    )


def seen(*streams: Stream, silent: tuple[UnresponsiveAsset, ...] = ()) -> EvidenceSet:
    snapshot = ClusterSnapshot(taken_at=NOW, streams=streams, silent=silent)
    return EvidenceSet({SnapshotSeries: SnapshotSeries((snapshot,))}, {})


def causes_and_consequences(listed: tuple[Incident, ...]) -> list[tuple[list[str], list[str]]]:
    return [
        (
            [f"{r.rule.code} {r.finding.subject.label}" for r in incident.causes],
            [f"{c.result.rule.code} {c.result.finding.subject.label}" for c in incident.consequences],
        )
        for incident in listed
    ]


def test_a_dead_server_explains_what_it_held_and_nothing_else() -> None:
    evidence = seen(placed("ORDERS", "", "n3", "n2"), placed("OTHER", "", "n1", "n2"))
    results = [
        failed("JSD702", stream("ORDERS"), "it has no leader"),
        failed("JSD702", stream("OTHER"), "it has no leader"),
        failed("JSD703", server("n3"), "n3 has not been heard for 31s"),
        failed("JSD901", server("n3"), "no answer"),
        failed("JSD706", Subject(kind="cluster", name="c"), "2 of 4 members are there"),
    ]
    grouped = incidents(results, evidence, NOW)
    assert causes_and_consequences(grouped) == [
        (["JSD703 n3"], ["JSD702 APP > ORDERS", "JSD706 c", "JSD901 n3"]),
        (["JSD702 APP > OTHER"], []),
    ]
    assert [consequence.evidence for consequence in grouped[0].consequences] == [
        "n3 holds it",
        "the same cluster",
        "the same server n3",
    ]


def test_a_lagging_replica_is_explained_by_its_own_server_alone() -> None:
    evidence = seen(placed("ORDERS", "n1", "n2", "n3"))
    lag = failed(
        "JSD704", stream("ORDERS"), "n2 is behind", evidence=(Observation("n1", "cluster.replicas[n2].lag", 9),)
    )
    away = failed("JSD703", server("n3"), "n3 has not been heard")
    assert len(incidents([lag, away], evidence, NOW)) == 2
    assert len(incidents([lag, failed("JSD703", server("n2"), "n2 has not been heard")], evidence, NOW)) == 1


def test_a_slow_disk_explains_a_server_that_does_not_respond() -> None:
    silent_peer = (Observation("n2", "cluster.replicas[n1].active_ns", 12_000_000_000),)
    results = [
        failed("JSD703", stream("ORDERS"), "n1 has not been heard for 12s", evidence=silent_peer),
        failed("JSD901", server("n1"), "no response"),
        failed("JSD814", server("n1"), "it waited for its disk"),
    ]
    grouped = incidents(results, seen(placed("ORDERS", "n2", "n1", "n3")), NOW)
    assert causes_and_consequences(grouped) == [(["JSD814 n1"], ["JSD703 APP > ORDERS", "JSD901 n1"])]
    [_, _, slow_disk] = results
    others = [failed("JSD703", stream("ORDERS"), "n3 has not been heard for 12s"), slow_disk]
    assert len(incidents(others, seen(placed("ORDERS", "n2", "n3", "n4")), NOW)) == 2


def test_an_asset_without_a_response_belongs_to_the_server_that_is_away() -> None:
    silent = (UnresponsiveAsset(stream("SOLO"), "no responders"),)
    results = [failed("JSD702", stream("SOLO"), "no server answers"), failed("JSD703", server("n3"), "not heard")]
    [incident] = incidents(results, seen(silent=silent), NOW)
    assert incident.causes[0].rule.code == "JSD703"
    assert incident.consequences[0].evidence == "no server responds for it, and n3 is away"
    assert incident.impact is Impact.PUBLISHERS_REFUSED
    assert incident.severity is Severity.CRITICAL


@pytest.mark.parametrize(("retention", "number"), [("workqueue", 1), ("interest", 1), ("limits", 2)])
def test_a_dead_worker_fills_only_a_stream_that_waits_for_it(retention: str, number: int) -> None:
    evidence = seen(placed("JOBS", "n1", retention=retention, consumers=("worker",)))
    results = [failed("JSD405", consumer("JOBS", "worker"), "nobody asks"), failed("JSD603", stream("JOBS"), "full")]
    assert len(incidents(results, evidence, NOW)) == number


def test_a_chain_of_consequences_has_one_root() -> None:
    evidence = seen(placed("JOBS", "n1", retention="workqueue", consumers=("worker",)))
    worker = consumer("JOBS", "worker")
    results = [
        failed("JSD608", stream("JOBS"), "above its threshold"),
        failed("JSD602", stream("JOBS"), "98 % full"),
        failed("JSD603", stream("JOBS"), "refuses"),
        failed("JSD401", worker, "behind"),
        failed("JSD405", worker, "nobody asks"),
    ]
    [incident] = incidents(results, evidence, NOW)
    assert [r.rule.code for r in incident.causes] == ["JSD405"]
    assert {c.result.rule.code for c in incident.consequences} == {"JSD401", "JSD602", "JSD603", "JSD608"}


def test_findings_that_are_alike_are_one_incident_and_others_are_not() -> None:
    results = [failed("JSD405", consumer("A", f"w{i}"), f"{i} messages wait for w{i}") for i in range(40)]
    results.append(failed("JSD405", consumer("A", "slow"), "nobody has asked since it was created"))
    assert sorted(len(incident.causes) for incident in incidents(results, seen(), NOW)) == [1, 40]


def test_a_tenants_single_replicas_are_one_incident_wherever_each_lies() -> None:
    names = ("alpha", "bravo", "nats-2")
    streams = [replace(placed("R3", *names), config=StreamConfig(name="R3", num_replicas=3))]
    streams += [replace(placed(f"tenant_{n}", names[n % 3]), answered_by=names[n % 3]) for n in range(400)]
    series = SnapshotSeries((ClusterSnapshot(taken_at=NOW, streams=tuple(streams)),))
    results = [Result(RULES["JSD605"], finding) for finding in replicas_risky(series, None, None)]
    failures = [result for result in results if result.finding.outcome is Outcome.FAIL]
    (incident,) = incidents(failures, seen(), NOW)
    assert len(incident.causes) == 400
    assert all(name in {word for f in failures for word in f.finding.message.split()} for name in names)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("quiet for 3s", "quiet for 3s12ms"),
        ("quiet for 250ms", "quiet for 1m30s"),
        ("1 message", "1,204 messages"),
        ("at 80 %", "at 97.5 %"),
    ],
)
def test_numbers_and_lengths_of_time_do_not_tell_incidents_apart(first: str, second: str) -> None:
    results = [failed("JSD405", consumer("A", "w1"), first), failed("JSD405", consumer("A", "w2"), second)]
    assert len(incidents(results, seen(), NOW)) == 1


def test_other_accounts_other_times_and_mere_possibilities_explain_nothing() -> None:
    lost = failed("JSD204", stream("ORDERS"), "lost messages")
    late = failed("JSD205", consumer("ORDERS", "c"), "ahead")
    for cause in (
        replace(lost, finding=replace(lost.finding, subject=stream("ORDERS", "OTHER"))),
        replace(lost, finding=replace(lost.finding, confidence=Confidence.LOW)),
        replace(lost, finding=replace(lost.finding, last_seen=NOW - timedelta(days=1))),
        replace(lost, finding=replace(lost.finding, severity=Severity.INFO)),
    ):
        assert len(incidents([cause, late], seen(), NOW)) == 2
    lately = replace(lost, finding=replace(lost.finding, last_seen=NOW - timedelta(minutes=1)))
    unnamed = replace(lost, finding=replace(lost.finding, subject=stream("ORDERS", "")))
    for cause in (lost, lately, unnamed):
        assert len(incidents([cause, late], seen(), NOW)) == 1


def test_the_order_is_severity_then_impact_then_how_many() -> None:
    results = [
        failed("JSD601", stream("A"), "unbounded"),
        failed("JSD809", server("n1"), "many refused"),
        failed("JSD204", stream("B"), "lost"),
        *(failed("JSD605", stream(name), "one replica") for name in "CDE"),
        failed("JSD703", server("n9"), "not heard"),
        failed("JSD404", consumer("F", "c"), "nothing comes"),
    ]
    order = [incident.causes[0].rule.code for incident in incidents(results, seen(), NOW)]
    assert order == ["JSD204", "JSD404", "JSD703", "JSD809", "JSD605", "JSD601"]
    assert incidents(list(reversed(results)), seen(), NOW) == incidents(results, seen(), NOW)


def test_every_finding_is_in_exactly_one_incident() -> None:
    subjects = [server("n1"), server("n2"), stream("A"), stream("B"), consumer("A", "c"), Subject(kind="cluster")]
    results = [failed(code, subject, f"{code} fails") for code in RULES for subject in subjects]
    grouped = incidents(results, seen(placed("A", "n1", "n2", consumers=("c",)), placed("B", "n2")), NOW)
    listed = [id(result) for incident in grouped for result in incident.results]
    assert sorted(listed) == sorted(id(result) for result in results)


def test_the_shipped_graph_has_no_circle() -> None:
    assert not list(cause_graph_misfits(RULES.values()))


def test_a_circle_and_an_unknown_code_are_mistakes_of_the_pages() -> None:
    def rule(code: str, *causes: str) -> Rule:
        edges = tuple(Explanation(cause, Relation.SAME) for cause in causes)
        return replace(RULES["JSD703"], code=code, explained_by=edges, origin=f"{code}.md")

    circle = [rule("JSD1", "JSD2"), rule("JSD2", "JSD3"), rule("JSD3", "JSD1")]
    assert list(cause_graph_misfits(circle)) == [
        "JSD1.md:1: 'explained_by' goes in a circle: JSD1 <- JSD2 <- JSD3 <- JSD1"
    ]
    assert list(cause_graph_misfits([rule("JSD1", "JSD1")]))
    [unknown] = cause_graph_misfits([rule("JSD1", "JSD3"), rule("JSD2")])
    assert "no rule has the code 'JSD3'" in unknown


def test_a_page_reports_what_is_wrong_with_its_graph() -> None:
    page = '+++\ncode = "X101"\nslug = "x"\ntitle = "x"\ncheck = "c"\nseverity = "error"\nstatus = "stable"\n'
    page += 'impact = "terrible"\nexplained_by = [{ code = "X102", link = "near" }]\n+++\n'
    with pytest.raises(PageError) as raised:
        load_rules([PageText("X101.md", "x", page)], {}, frozenset())
    problems = "\n".join(raised.value.problems)
    assert "terrible" in problems
    assert "'explained_by' must be a list" in problems


def test_a_full_stream_that_discards_is_the_cause_of_what_its_consumer_missed() -> None:
    """JSD206 vanishes when the server moves the consumer on, JSD618 stays: the incident keeps its cause."""
    slow = consumer("ORDERS", "slow")
    for severity in (Severity.WARNING, Severity.ERROR):
        evicts = failed("JSD618", slow, severity=severity)
        [explained] = causes_and_consequences(
            incidents([failed("JSD206", slow), evicts], seen(placed("ORDERS", "n1")), NOW)
        )
        assert explained == (["JSD618 APP > ORDERS > slow"], ["JSD206 APP > ORDERS > slow"])


def test_a_wrong_filter_explains_what_no_consumer_takes() -> None:
    evidence = seen(placed("EVENTS", "n1", retention="interest"))
    unheard = failed("JSD617", stream("EVENTS"), severity=Severity.ERROR)
    wrong = failed("JSD416", consumer("EVENTS", "billing"))
    assert causes_and_consequences(incidents([unheard, wrong], evidence, NOW)) == [
        (["JSD416 APP > EVENTS > billing"], ["JSD617 APP > EVENTS"])
    ]
    elsewhere = failed("JSD416", consumer("OTHER", "billing"))
    assert len(incidents([unheard, elsewhere], evidence, NOW)) == 2


MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
LOGGED = (NOW - 50 * HOUR, NOW - 48 * HOUR)
"""When a fault showed in logs, first and last."""


@pytest.mark.parametrize(
    ("first", "last", "linked"),
    [
        (LOGGED[0] + HOUR, LOGGED[0] + HOUR, True),
        (LOGGED[0] - HOUR, LOGGED[0] - 15 * MINUTE, True),
        (LOGGED[0] - HOUR, LOGGED[0] - 15 * MINUTE - timedelta(seconds=1), False),
        (LOGGED[1] + 15 * MINUTE, NOW, True),
        (LOGGED[1] + 15 * MINUTE + timedelta(seconds=1), NOW, False),
        (LOGGED[1] + 10 * MINUTE, LOGGED[0] - 10 * MINUTE, True),
        (LOGGED[0] - HOUR, LOGGED[1] + HOUR, True),
    ],
)
def test_faults_in_logs_are_one_problem_up_to_a_quarter_of_an_hour_apart(
    first: datetime, last: datetime, linked: bool
) -> None:
    lost = failed("JSD204", stream("ORDERS"), first_seen=LOGGED[0], last_seen=LOGGED[1])
    ahead = failed("JSD205", consumer("ORDERS", "c"), first_seen=first, last_seen=last)
    assert (len(incidents([lost, ahead], seen(), NOW)) == 1) is linked


@pytest.mark.parametrize(("ago", "linked"), [(HOUR, True), (HOUR + timedelta(seconds=1), False)])
def test_a_fault_in_logs_has_to_do_with_the_present_for_an_hour(ago: timedelta, linked: bool) -> None:
    """Whichever of the two is the one that logs date."""
    lost, ahead = failed("JSD204", stream("ORDERS")), failed("JSD205", consumer("ORDERS", "c"))
    logged_cause = replace(lost, finding=replace(lost.finding, first_seen=NOW - 9 * HOUR, last_seen=NOW - ago))
    logged_effect = replace(ahead, finding=replace(ahead.finding, first_seen=NOW - 9 * HOUR, last_seen=NOW - ago))
    for results in ([logged_cause, ahead], [lost, logged_effect]):
        assert (len(incidents(results, seen(), NOW)) == 1) is linked


def test_a_mere_possibility_does_not_stand_before_a_sure_cause() -> None:
    results = [
        failed("JSD301", stream("ORDERS"), confidence=Confidence.LOW),
        failed("JSD302", stream("ORDERS")),
        failed("JSD305", stream("ORDERS")),
    ]
    assert causes_and_consequences(incidents(results, seen(), NOW)) == [
        (["JSD301 APP > ORDERS"], []),
        (["JSD302 APP > ORDERS"], ["JSD305 APP > ORDERS"]),
    ]


def test_the_worst_consequences_come_first() -> None:
    results = [
        failed("JSD704", server("n1"), severity=Severity.WARNING),
        failed("JSD707", server("n1"), severity=Severity.ERROR),
        failed("JSD703", server("n1")),
    ]
    [incident] = incidents(results, seen(), NOW)
    assert [(c.result.rule.code, c.evidence) for c in incident.consequences] == [
        ("JSD707", "the same server n1"),
        ("JSD704", "the same server n1"),
    ]


def test_of_equal_impact_the_most_severe_come_first_then_those_of_most_assets_then_the_earliest() -> None:
    """Those that nothing dates come last, by the code of their rule."""
    results = [
        *(failed("JSD401", consumer("A", name), severity=Severity.WARNING) for name in ("x", "y", "z")),
        failed("JSD402", consumer("B", "c"), severity=Severity.ERROR),
        *(failed("JSD403", consumer("C", name), severity=Severity.WARNING) for name in ("x", "y")),
        failed("JSD404", consumer("D", "c"), severity=Severity.WARNING),
        failed("JSD405", consumer("E", "c"), severity=Severity.WARNING),
        failed("JSD408", consumer("F", "c"), severity=Severity.WARNING, first_seen=NOW - HOUR),
        failed("JSD409", consumer("G", "c"), severity=Severity.WARNING, first_seen=NOW - 2 * HOUR),
    ]
    order = [incident.causes[0].rule.code for incident in incidents(results, seen(), NOW)]
    assert order == ["JSD402", "JSD401", "JSD403", "JSD409", "JSD408", "JSD404", "JSD405"]
