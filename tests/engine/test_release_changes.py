"""What stands between two releases, on recordings of three healthy servers and on small edits of them."""

from pathlib import Path
from typing import Any

import pytest

from jsdoctor.checks.cluster_health.known_defects import CONDITIONS
from jsdoctor.engine.preflight.release_changes import release_preflight
from jsdoctor.model.harm import Acceptance, Harm
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.preflight import GoNoGo, Preflight
from jsdoctor.model.release import release
from jsdoctor.sources.rule_pages import known_defects, known_releases
from tests.support.evidence import evidence_of
from tests.support.log_cases import evidence_of_files

Json = dict[str, Any]
OLD, MIDDLE, NEW = "three-nodes-2.10.26", "three-nodes-2.12.8", "three-nodes-2.15.1"
DEFECTS = (Acceptance.DEFECTS,)


def result(base: str, target: str, *edits: Json, accepted: tuple[Acceptance, ...] = DEFECTS, **case: Any) -> Preflight:
    evidence = evidence_of({"base": base, "edit": list(edits), **case})
    return release_preflight(evidence, target, known_releases(), known_defects(), accepted)


def seen(judged: Preflight) -> dict[str, Harm]:
    return {obstacle.subject.label: obstacle.harm for obstacle in judged.standing}


def notes(judged: Preflight) -> set[str]:
    return {effect.kind for effect in judged.effects}


@pytest.mark.parametrize(("base", "target"), [(OLD, "2.15.1"), (MIDDLE, "2.15.1"), (OLD, "2.12.15"), (NEW, "2.14.9")])
def test_a_healthy_deployment_may_move(base: str, target: str) -> None:
    judged = result(base, target)
    assert (judged.verdict, seen(judged), judged.running) == (GoNoGo.GO, {}, (base.rpartition("-")[2],))
    assert "order" in notes(judged)


def test_each_step_is_named_once_and_only_where_it_is_made() -> None:
    assert {"ingest-limit", "strict-requests", "desired-state"} <= notes(result(OLD, "2.15.1"))
    assert "strict-requests" not in notes(result(MIDDLE, "2.15.1"))
    assert "strict-requests" not in notes(result(OLD, "2.11.11"))
    assert "desired-state" not in notes(result(NEW, "2.15.2"))
    assert {"state-files-2.11"} == notes(result(NEW, "2.10.29")) & {"state-files-2.11", "state-files-2.12"}
    assert {"state-files-2.12"} == notes(result(NEW, "2.11.17")) & {"state-files-2.11", "state-files-2.12"}


@pytest.mark.parametrize(
    ("target", "harm"), [("2.12.15", "data_lost"), ("2.11.17", "no_start"), ("2.10.29", "data_lost"), ("2.14.9", None)]
)
def test_acks_by_flow_control_cannot_go_back(target: str, harm: str | None) -> None:
    edit = {"consumer": "APP/ORDERS/billing", "set": {"config.ack_policy": "flow_control"}}
    assert seen(result(NEW, target, edit)).get("APP > ORDERS > billing") == harm


@pytest.mark.parametrize(("target", "harm"), [("2.12.15", None), ("2.11.17", "no_start"), ("2.10.29", None)])
def test_a_prioritized_consumer_crashes_2_11(target: str, harm: str | None) -> None:
    edit = {"consumer": "APP/ORDERS/billing", "set": {"config.priority_policy": "prioritized"}}
    assert seen(result(NEW, target, edit)).get("APP > ORDERS > billing") == harm


@pytest.mark.parametrize(
    ("level", "target", "words"),
    [
        ("4", "2.12.15", "it needs API level 4, and 2.12.15 has 3: it is out of service"),
        ("2", "2.10.29", "it needs API level 2, and 2.10.29 has 0: it runs without the settings"),
        ("3", "2.12.15", ""),
        ("3", "2.12.4", "it needs API level 3, and 2.12.4 has 2: it is out of service"),
    ],
)
def test_what_needs_a_higher_level_is_named(level: str, target: str, words: str) -> None:
    edit = {"stream": "APP/ORDERS", "set": {"config.metadata": {"_nats.req.level": level}}}
    messages = [o.message for o in result(NEW, target, edit).standing if o.subject.label == "APP > ORDERS"]
    assert [message[: len(words)] for message in messages] == [words] * bool(words)


@pytest.mark.parametrize(
    ("base", "target", "named"),
    [(NEW, "2.15.3", True), (NEW, "2.15.2", False), (MIDDLE, "2.14.10", True), (MIDDLE, "2.14.9", False)],
)
def test_what_a_patch_reserves_is_named_where_it_comes(base: str, target: str, named: bool) -> None:
    deliver = {"consumer": "APP/ORDERS/billing", "set": {"config.deliver_subject": "$JS.EVENT.x"}}
    harmless = {"consumer": "APP/ORDERS/archive", "set": {"config.deliver_subject": "$JS.S.x"}}
    domain = {"all_servers": True, "endpoint": "JSZ", "set": {"config.domain": "ACK"}}
    judged = result(base, target, deliver, harmless)
    assert seen(judged) == ({"APP > ORDERS > billing": Harm.DATA_LOST} if named else {})
    assert ("lame-duck" in notes(judged)) is named
    assert (Harm.NO_START in seen(result(base, target, domain)).values()) is named


def test_a_crowded_stream_takes_no_further_consumer_from_2_15_on() -> None:
    crowd = [{"consumer": "APP/ORDERS/billing", "rename": f"c{number}"} for number in range(1_000)]
    judged = result(MIDDLE, "2.15.1", *crowd)
    assert seen(judged) == {"APP > ORDERS": Harm.REFUSED}
    assert seen(result(MIDDLE, "2.14.9", *crowd)) == {}
    own = {"stream": "APP/ORDERS", "set": {"config.max_consumers": 5_000}}
    assert seen(result(MIDDLE, "2.15.1", *crowd, own)) == {}


def test_defects_of_an_old_patch_stand_in_the_way_until_they_are_accepted() -> None:
    judged = result(NEW, "2.12.8", accepted=())
    assert (judged.verdict, set(seen(judged).values())) == (GoNoGo.NO_GO, {Harm.DEFECT})
    assert "take 2.12.14 or later" in judged.standing[0].advice
    assert result(NEW, "2.12.8").verdict is GoNoGo.GO
    assert result(NEW, "2.12.15", accepted=()).verdict is GoNoGo.GO, "that release has them mended"


def test_the_meta_leader_comes_last() -> None:
    order = next(effect for effect in result(MIDDLE, "2.15.1").effects if effect.kind == "order")
    assert len(order.names) == 3
    assert order.names[-1] == "n1", "the recording's meta leader"


def test_what_is_not_known_is_said() -> None:
    judged = result(NEW, "2.99.0")
    assert (judged.verdict, judged.unseen[0].kind) == (GoNoGo.UNKNOWN, "release")
    assert result(OLD, "2.9.25").verdict is GoNoGo.UNKNOWN
    hidden = {"server": "n2", "endpoint": "JSZ", "drop": True}
    assert result(MIDDLE, "2.15.1", hidden).verdict is GoNoGo.UNKNOWN, "n2 may hold what 2.15.1 cannot run"


def test_a_plain_login_sees_too_little_for_a_go() -> None:
    assert result("three-nodes-2.12.8-account", "2.15.1").verdict is GoNoGo.UNKNOWN


def test_a_release_that_runs_already_changes_nothing() -> None:
    judged = result(NEW, "2.15.1")
    assert (judged.verdict, judged.effects) == (GoNoGo.GO, ())


def test_the_table_is_in_order_and_complete() -> None:
    known = known_releases()
    ids = [change.id for change in known.changes]
    assert len(set(ids)) == len(ids)
    for change in known.changes:
        assert change.source.startswith("https://"), change.id
        assert release(change.release) <= release(known.newest), change.id
    assert {defect.uses for defect in known_defects().defects} <= CONDITIONS.keys()


@pytest.mark.parametrize(("field", "harm"), [("template_owner", "refused"), ("sourcing", None)])
def test_logs_show_what_a_strict_server_refuses(tmp_path: Path, field: str, harm: str | None) -> None:
    """What servers of two releases send each other is no obstacle."""
    line = f"Invalid JetStream request 'APP > $JS.API.STREAM.CREATE.X': json: unknown field \"{field}\""
    (tmp_path / "n1.log").write_text(f"[7] 2026/11/21 10:00:00.000000 [WRN]  - {line}\n")
    logs = evidence_of_files(tmp_path).get(LogEvidence)
    assert logs is not None
    whole = evidence_of({"base": OLD, "edit": []}).joined(logs)
    judged = release_preflight(whole, "2.15.1", known_releases(), known_defects(), DEFECTS)
    assert seen(judged).get("APP") == harm
