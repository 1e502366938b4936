"""What rules say becomes a verdict on each cause: never confirmed or ruled out without having looked."""

from typing import Any

import pytest

from jsdoctor.engine.diagnosis import undiagnosed
from jsdoctor.engine.expectation import AHEAD, STALE, findings_on_expectation
from jsdoctor.model.diagnosis import Narrowing, Question, Verdict
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.expectation import RefusedPublish, StoredMessage
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.symptom import Symptom
from tests.diagnosis.book import book
from tests.diagnosis.differential import STALLED, cause, differential, evaluated
from tests.support.evidence import base_names, evidence_of
from tests.support.ruleset import checks, rules

BILLING = Narrowing(stream="ORDERS", consumer="billing")


def edited(*edits: dict[str, Any]) -> EvidenceSet:
    return evidence_of({"base": "three-nodes-2.15.1", "edit": list(edits)})


def nothing() -> EvidenceSet:
    gap = Gap("access", CLUSTER, "no server responded", "see that it runs", requested=False)
    return EvidenceSet({Gaps: Gaps(())}, dict.fromkeys(KINDS, gap))


def symptom(slug: str) -> Symptom:
    symptom_page = book().symptom(slug)
    assert symptom_page is not None
    return symptom_page


@pytest.mark.parametrize("base", base_names())
def test_nothing_is_confirmed_on_a_healthy_deployment(base: str) -> None:
    evidence = evidence_of({"base": base})
    everything = evaluated(evidence)
    for symptom in book().symptoms:
        for narrowing in (Narrowing(), BILLING):
            confirmed = differential(symptom.slug, evidence, narrowing, evaluation=everything).with_verdict(
                Verdict.CONFIRMED
            )
            # JSD720 is true of these versions: they have defects that later ones do not.
            assert [(cause.rule.code, cause.message) for cause in confirmed if cause.rule.code != "JSD720"] == [], (
                symptom.slug
            )


@pytest.mark.parametrize("narrowing", [Narrowing(), Narrowing(stream="ORDERS"), BILLING])
def test_a_fault_confirms_its_cause_and_rules_out_the_others(narrowing: Narrowing) -> None:
    diagnosis = differential("consumer-stalled", evidence_of(STALLED), narrowing)
    assert [confirmed.rule.code for confirmed in diagnosis.with_verdict(Verdict.CONFIRMED)] == ["JSD403"]
    # Another consumer of the stream has several filters: only its subjects show whether one of them never matched.
    undecided = [] if narrowing == BILLING else ["JSD429"]
    assert [open_cause.rule.code for open_cause in diagnosis.with_verdict(Verdict.UNDECIDED)] == undecided
    assert cause(diagnosis, "JSD403").evidence
    assert cause(diagnosis, "JSD403").results
    assert (diagnosis.next_step is None) == (narrowing == BILLING)


def test_a_fault_of_another_consumer_is_not_this_ones() -> None:
    diagnosis = differential("consumer-stalled", evidence_of(STALLED), Narrowing(stream="ORDERS", consumer="notify"))
    assert cause(diagnosis, "JSD403").verdict is Verdict.RULED_OUT


FULL: tuple[dict[str, Any], ...] = (
    {"stream": "APP/ORDERS", "set": {"config.max_msgs": 120, "config.discard": "new", "state.messages": 120}},
    {"stream": "APP/INTAKE", "set": {"config.max_bytes": -1, "config.max_age": 0, "config.max_msgs": -1}},
)


@pytest.mark.parametrize(
    ("codes", "confirmed"), [((), {"JSD603", "JSD601"}), ((10077,), {"JSD603", "JSD601"}), ((10047,), set[str]())]
)
def test_a_fault_with_another_error_is_no_cause_of_this_one(codes: tuple[int, ...], confirmed: set[str]) -> None:
    """A full stream refuses publishes (10077); a server without room refuses streams (10047)."""
    diagnosis = differential("insufficient-resources", edited(*FULL), codes=frozenset(codes))
    assert {cause.rule.code for cause in diagnosis.with_verdict(Verdict.CONFIRMED)} == confirmed
    other = cause(diagnosis, "JSD603")
    if not confirmed:
        assert other.verdict is Verdict.RULED_OUT
        assert other.message.startswith("it is there, but is no reason of error 10047: APP > ORDERS")


def test_a_stream_that_was_not_seen_decides_nothing() -> None:
    diagnosis = differential("consumer-stalled", evidence_of(STALLED), Narrowing(stream="NOWHERE"))
    assert diagnosis.notes == ("no stream NOWHERE was seen",)
    assert cause(diagnosis, "JSD403").verdict is Verdict.UNDECIDED
    assert not diagnosis.with_verdict(Verdict.CONFIRMED)


def test_a_consumer_that_was_not_seen_decides_nothing() -> None:
    diagnosis = differential("consumer-stalled", evidence_of(STALLED), Narrowing(stream="ORDERS", consumer="nobody"))
    assert diagnosis.notes == ("no consumer nobody was seen on ORDERS",)
    assert cause(diagnosis, "JSD403").verdict is Verdict.UNDECIDED


def test_a_stream_without_its_leaders_reply_decides_nothing_by_silence() -> None:
    evidence = edited({"stream": "APP/ORDERS", "remove": ["cluster.leader"]})
    diagnosis = differential("insufficient-resources", evidence, Narrowing(stream="ORDERS"))
    assert diagnosis.notes == ("stream ORDERS was not seen from a leader, so its state says nothing",)
    assert cause(diagnosis, "JSD603").verdict is Verdict.UNDECIDED


def test_a_missing_server_undoes_nothing_that_was_judged() -> None:
    """`check` passes the rule on the same evidence, and reports the gap beside it."""
    whole = evidence_of({"base": "three-nodes-2.15.1"})
    gap = Gap("server", CLUSTER, "n2 did not answer", "see that it runs")
    partly = EvidenceSet(
        {kind: value for kind in KINDS if (value := whole.get(kind)) is not None} | {Gaps: Gaps((gap,))},
        {kind: whole.why_absent(kind) for kind in KINDS if whole.get(kind) is None},
    )
    diagnosis = differential("consumer-stalled", partly)
    assert cause(diagnosis, "JSD403").verdict is Verdict.RULED_OUT
    assert cause(diagnosis, "JSD403").message.endswith(", as far as it was seen")
    assert cause(differential("consumer-stalled", partly, BILLING), "JSD403").verdict is Verdict.RULED_OUT


def test_consumers_that_a_stream_only_counts_leave_the_rules_about_them_undecided() -> None:
    """A page of a stream has the number of its consumers. With all of them seen, the same rule is ruled out."""
    alone = edited({"stream": "APP/ORDERS", "set": {"state.consumer_count": 40}})
    orders = Narrowing(stream="ORDERS")
    hidden = cause(differential("messages-missing", alone, orders), "JSD427")
    assert hidden.verdict is Verdict.UNDECIDED
    assert hidden.message.endswith("consumers of stream ORDERS were not seen")
    assert cause(differential("messages-missing", alone, orders), "JSD607").verdict is Verdict.RULED_OUT
    whole = edited({"stream": "APP/ORDERS", "set": {"state.last_seq": 20_000}})
    assert cause(differential("messages-missing", whole, orders), "JSD427").verdict is Verdict.RULED_OUT


def test_a_file_that_declares_nothing_rules_nothing_out() -> None:
    diagnosis = differential("consumer-not-bound", nothing().joined(Manifests()))
    assert {cause.verdict for cause in diagnosis.causes} == {Verdict.UNDECIDED}


@pytest.mark.parametrize("symptom", book().symptoms, ids=lambda symptom: symptom.slug)
def test_without_evidence_everything_is_undecided_with_a_next_step(symptom: Symptom) -> None:
    for diagnosis in (differential(symptom.slug, nothing()), undiagnosed(Question(symptom), rules(), checks())):
        evidence_rules = [cause for cause in diagnosis.causes if cause.rule.failure_mode != "collection"]
        assert {cause.verdict for cause in evidence_rules} == {Verdict.UNDECIDED}
        assert [cause.rule.code for cause in diagnosis.causes] == list(symptom.causes)
        assert all(cause.next_step for cause in evidence_rules)
        assert diagnosis.next_step is not None
        assert set(diagnosis.next_step.decides) <= set(symptom.causes)


def test_a_possibility_confirms_nothing() -> None:
    """With a filter it cannot be proven that limits removed messages before they were delivered."""
    evidence = edited(
        {"stream": "APP/ORDERS", "set": {"state.first_seq": 10_000, "state.last_seq": 20_000}},
        {
            "consumer": "APP/ORDERS/billing",
            "set": {
                "config.filter_subject": "orders.new",
                "delivered.stream_seq": 60,
                "ack_floor.stream_seq": 60,
                "num_pending": 5,
            },
        },
    )
    possible = cause(differential("messages-missing", evidence, BILLING), "JSD206")
    assert possible.verdict is Verdict.UNDECIDED
    assert possible.message.startswith("possible: ")
    assert possible.next_step


def orders() -> Stream:
    series = evidence_of({"base": "three-nodes-2.15.1"}).get(SnapshotSeries)
    assert series is not None
    return next(stream for stream in series.last.streams if stream.name == "ORDERS")


def expected(expectation: RefusedPublish) -> dict[str, Verdict]:
    diagnosis = differential(
        "wrong-last-sequence",
        evidence_of({"base": "three-nodes-2.15.1"}),
        Narrowing(stream="ORDERS", expected_seq=expectation.expected_seq),
        findings_on_expectation(expectation, orders()),
    )
    return {code: cause(diagnosis, code).verdict for code in (STALE, AHEAD)}


def test_expected_sequences_against_the_stream() -> None:
    last = orders().state.last_seq
    confirmed, ruled_out, undecided = Verdict.CONFIRMED, Verdict.RULED_OUT, Verdict.UNDECIDED
    assert expected(RefusedPublish(last - 1)) == {STALE: confirmed, AHEAD: ruled_out}
    assert expected(RefusedPublish(last + 1)) == {STALE: ruled_out, AHEAD: confirmed}
    assert expected(RefusedPublish(last)) == {STALE: undecided, AHEAD: ruled_out}
    assert expected(RefusedPublish(None, actual_seq=last + 1)) == {STALE: undecided, AHEAD: confirmed}
    assert expected(RefusedPublish(last - 1, actual_seq=0)) == {STALE: ruled_out, AHEAD: confirmed}
    assert expected(RefusedPublish(last - 2, actual_seq=last - 1)) == {STALE: confirmed, AHEAD: ruled_out}
    assert expected(RefusedPublish(None, actual_seq=last)) == {STALE: undecided, AHEAD: undecided}


def test_a_retry_of_a_stored_message_is_distinguished_from_a_conflict() -> None:
    last = orders().state.last_seq
    same, other = StoredMessage(last, "orders.new", "id-1"), StoredMessage(last, "orders.new", "id-2")
    retry = findings_on_expectation(RefusedPublish(last - 1, "id-1", None, same), orders())[STALE]
    conflict = findings_on_expectation(RefusedPublish(last - 1, "id-1", None, other), orders())[STALE]
    unknown_id = findings_on_expectation(RefusedPublish(last - 1, "", None, other), orders())[STALE]
    assert "the first attempt was stored" in retry.message
    assert "from another writer" in conflict.message
    assert "from another writer" not in unknown_id.message


def test_what_comes_with_another_cause_is_none_of_its_own() -> None:
    """A server that is away takes the leader of a stream with it."""
    leaderless = {
        "stream": "APP/ORDERS",
        "set": {
            "created": "2026-01-01T00:00:00Z",
            "cluster.replicas.0.active": 16_100_000_000,
            "cluster.replicas.1.active": 16_100_000_000,
        },
        "remove": ["cluster.leader"],
    }
    peer = {"name": "n3", "peer": "BXScrY9i", "current": False, "active": 120_000_000_000}
    away: list[dict[str, Any]] = [
        {"all_servers": True, "set": {"meta_cluster.leader": "n1"}},
        {
            "server": "n1",
            "set": {"meta_cluster.replicas": [{**peer, "name": "n2", "active": 1, "current": True}, peer]},
        },
    ]
    alone = differential("stream-offline", edited(leaderless), Narrowing(stream="ORDERS"))
    assert [confirmed.rule.code for confirmed in alone.with_verdict(Verdict.CONFIRMED)] == ["JSD702"]
    both = differential("stream-offline", edited(leaderless, *away), Narrowing(stream="ORDERS"))
    assert [confirmed.rule.code for confirmed in both.with_verdict(Verdict.CONFIRMED)] == ["JSD703"]
    assert cause(both, "JSD702").verdict is Verdict.EXPLAINED
    assert cause(both, "JSD702").message.startswith("explained by JSD703 (n3 holds it): ")


def test_silence_of_state_does_not_rule_out_what_was() -> None:
    """No duplicate is stored that the state shows, and how long publishers retry it cannot show."""
    duplicate = cause(differential("duplicate-messages", evidence_of(STALLED), BILLING), "JSD301")
    assert duplicate.verdict is Verdict.UNDECIDED
    assert duplicate.next_step.startswith("read the stored messages: --scan ORDERS")
    stored = {"base": "three-nodes-2.15.1-account", "edit": [{"stored": "ORDERS", "ages": ["60s", "50s"]}]}
    assert (
        cause(differential("duplicate-messages", evidence_of(stored), BILLING), "JSD301").verdict is Verdict.RULED_OUT
    )


def test_a_healthy_stream_rules_nothing_out_about_a_consumer_that_was_not_seen() -> None:
    evidence = evidence_of({"base": "three-nodes-2.15.1", "keep_streams": ["APP/ORDERS"], "keep_consumers": []})
    assert cause(differential("consumer-stalled", evidence), "JSD702").verdict is Verdict.UNDECIDED
    assert cause(differential("stream-offline", evidence), "JSD702").verdict is Verdict.RULED_OUT
