"""Findings become incidents: one cause each, nothing lost, nothing linked that has nothing in common."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.incidents import incidents
from jsdoctor.engine.loader import PageText, load_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Confidence, Finding, Impact, Observation, Severity, Subject
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, Peer, SequencePair, StreamConfig, StreamState
from jsdoctor.model.report import Incident, Result
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream, UnresponsiveAsset
from jsdoctor.pages.front_matter import PageError
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


def test_an_asset_without_a_response_belongs_to_the_server_that_is_away() -> None:
    silent = (UnresponsiveAsset(stream("SOLO"), "no responders"),)
    results = [failed("JSD702", stream("SOLO"), "no server answers"), failed("JSD703", server("n3"), "not heard")]
    [incident] = incidents(results, seen(silent=silent), NOW)
    assert incident.causes[0].rule.code == "JSD703"
    assert incident.consequences[0].evidence == "no server responds for it, and n3 is away"
    assert incident.impact is Impact.PUBLISHERS_REFUSED
    assert incident.severity is Severity.CRITICAL


def test_findings_that_are_alike_are_one_incident_and_others_are_not() -> None:
    results = [failed("JSD405", consumer("A", f"w{i}"), f"{i} messages wait for w{i}") for i in range(40)]
    results.append(failed("JSD405", consumer("A", "slow"), "nobody has asked since it was created"))
    assert sorted(len(incident.causes) for incident in incidents(results, seen(), NOW)) == [1, 40]


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


def test_a_page_reports_what_is_wrong_with_its_graph() -> None:
    page = '+++\ncode = "X101"\nslug = "x"\ntitle = "x"\ncheck = "c"\nseverity = "error"\nstatus = "stable"\n'
    page += 'impact = "terrible"\nexplained_by = [{ code = "X102", link = "near" }]\n+++\n'
    with pytest.raises(PageError) as raised:
        load_rules([PageText("X101.md", "x", page)], {}, frozenset())
    problems = "\n".join(raised.value.problems)
    assert "terrible" in problems
    assert "'explained_by' must be a list" in problems


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


def test_what_began_and_has_not_ended_has_to_do_with_the_present_however_long_ago_that_was() -> None:
    lost, ahead = failed("JSD204", stream("ORDERS")), failed("JSD205", consumer("ORDERS", "c"))
    old_cause = replace(lost, finding=replace(lost.finding, first_seen=NOW - 9 * HOUR))
    new_effect = replace(ahead, finding=replace(ahead.finding, first_seen=NOW - HOUR))
    for results in ([old_cause, ahead], [old_cause, new_effect]):
        assert len(incidents(results, seen(), NOW)) == 1


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
