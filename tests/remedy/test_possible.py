"""What the deployment would refuse in the state that was seen is not offered."""

from typing import Any

import pytest

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Subject
from jsdoctor.model.report import Result
from jsdoctor.remedy.offer import NO_LEADER_ADVICE, with_offers
from tests.support.evidence import evidence_of
from tests.support.ruleset import actions, rules

ORDERS = Subject(kind="stream", name="ORDERS", account="APP")
BASE = "three-nodes-2.15.1"
MEGABYTE = 1_000_000
Json = dict[str, Any]


def offered(code: str, values: Json, evidence: EvidenceSet) -> tuple[tuple[str, ...], str]:
    rule = next(rule for rule in rules() if rule.code == code)
    result = Result(rule, Finding(subject=ORDERS, remedy=values))
    (outcome,) = with_offers([result], actions, evidence)
    assert outcome.remedy
    return outcome.remedy.commands, outcome.finding.advice


def edited(*edits: Json, base: str = BASE) -> EvidenceSet:
    return evidence_of({"base": base, "edit": list(edits)})


def servers(**config: int) -> EvidenceSet:
    unbounded = {"stream": "APP/ORDERS", "set": {"config.max_bytes": -1}}
    return edited(
        unbounded, {"endpoint": "JSZ", "all_servers": True, "set": {f"config.{k}": v for k, v in config.items()}}
    )


@pytest.mark.parametrize(
    ("values", "evidence", "commands", "advice"),
    [
        ({"replicas": 3}, edited(), ("nats stream edit ORDERS --replicas=3 -f",), ""),
        ({"replicas": 5}, edited(), (), "5 replicas need as many running servers, and 3 respond"),
        ({"replicas": 5}, edited(base=f"{BASE}-account"), ("nats stream edit ORDERS --replicas=5 -f",), ""),
        (
            {"replicas": 3},
            edited({"stream": "APP/ORDERS", "remove": ["cluster.leader"]}),
            (),
            "Bring back a server",
        ),
    ],
)
def test_replicas(values: Json, evidence: EvidenceSet, commands: tuple[str, ...], advice: str) -> None:
    shown, why = offered("JSD605", values, evidence)
    assert shown == commands
    assert why.startswith(advice)
    assert bool(why) == bool(advice)


def test_a_limit_fits_into_the_storage() -> None:
    wanted = {"max_bytes": 1 << 30}
    shown, why = offered("JSD602", wanted, servers())
    assert (shown, why) == (("nats stream edit ORDERS --max-bytes=1073741824 -f",), "")
    (edit,), why = offered("JSD602", wanted, servers(max_storage=900 * MEGABYTE))
    assert 0 < int(edit.partition("--max-bytes=")[2].split()[0]) <= 450 * MEGABYTE
    shown, why = offered("JSD602", wanted, servers(max_storage=MEGABYTE))
    assert shown == ()
    assert why.startswith("there is no storage left")


def test_of_a_stream_without_a_leader_only_lists_are_offered() -> None:
    leaderless = edited({"stream": "APP/ORDERS", "remove": ["cluster.leader"]})
    assert offered("JSD601", {"max_bytes": 1 << 30}, leaderless) == ((), NO_LEADER_ADVICE)
    assert offered("JSD604", {}, leaderless) == (("nats consumer report ORDERS",), NO_LEADER_ADVICE)
    assert offered("JSD702", {"unanswered": True}, leaderless) == (
        ("nats stream ls", "nats server report jetstream"),
        "",
    )
