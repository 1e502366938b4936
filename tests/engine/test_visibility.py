"""What a diagnosis could see of the stream and consumer that it is about."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.engine.visibility import Visibility
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.evidence_kinds import EvidenceSource
from jsdoctor.model.finding import CLUSTER, Finding, Subject
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import SnapshotSeries
from tests.evidence import evidence_of
from tests.ruleset import rules

BASE = "three-nodes-2.15.1"
ORDERS, BILLING = Narrowing(stream="ORDERS"), Narrowing(stream="ORDERS", consumer="billing")
NO_LEADER = {"copies": "all", "remove": ["cluster.leader"]}
SEEN = [Result(rules()[0], Finding(subject=CLUSTER))]


def visibility(narrowing: Narrowing, *edits: dict[str, Any]) -> Visibility:
    return Visibility(evidence_of({"base": BASE, "edit": list(edits)}), narrowing)


@pytest.mark.parametrize("narrowing", [Narrowing(), ORDERS, BILLING])
def test_what_was_seen_needs_no_note(narrowing: Narrowing) -> None:
    seen = visibility(narrowing)
    assert seen.notes == ()
    assert seen.unseen([]) is None


def test_accounts_and_sources() -> None:
    assert visibility(ORDERS).accounts == {"APP"}
    assert visibility(Narrowing()).accounts == set()
    assert EvidenceSource.EXPECTED not in visibility(ORDERS).ways
    assert visibility(ORDERS).ways >= {EvidenceSource.TREND, EvidenceSource.SYSTEM}
    expected = visibility(Narrowing(stream="ORDERS", expected_seq=0))
    assert expected.ways == visibility(ORDERS).ways | {EvidenceSource.EXPECTED}


def test_a_stream_that_is_not_there() -> None:
    seen = visibility(Narrowing(stream="ORDRES"))
    assert seen.notes == ("no stream ORDRES was seen",)
    gap = seen.unseen([])
    assert gap is not None
    assert gap == Gap(
        "stream",
        Subject(kind="stream", name="ORDRES"),
        "no stream ORDRES was seen",
        "see that its servers run, and look again with a login that sees it",
    )
    assert seen.unseen(SEEN) is None


def test_a_consumer_that_is_not_there() -> None:
    seen = visibility(Narrowing(stream="ORDERS", consumer="biling"))
    assert seen.notes == ("no consumer biling was seen on ORDERS",)


def test_followers_alone_say_nothing() -> None:
    followers = {"stream": "APP/ORDERS", "copies": "leader", "drop": True}
    assert visibility(ORDERS, followers).notes == (
        "stream ORDERS was not seen from a leader, so its state says nothing",
    )
    billing = {"consumer": "APP/ORDERS/billing", "copies": "leader", "drop": True}
    assert visibility(BILLING, billing).notes == (
        "consumer billing was not seen from its leader, so its state says nothing",
    )
    assert visibility(ORDERS, billing).notes == ()


def test_no_stream_was_looked_at() -> None:
    gap = Visibility(EvidenceSet({}, {}), ORDERS).unseen([])
    assert gap == Gap(
        "stream", Subject(kind="stream", name="ORDERS"), "no stream was looked at", "add --context NAME or -s URL"
    )
    assert Visibility(EvidenceSet({}, {}), Narrowing()).unseen([]) is None


def test_without_a_stream_gaps_of_whole_servers_count() -> None:
    endpoint = Gap("endpoint", CLUSTER, "no reply", "again")
    server = Gap("server", CLUSTER, "n3 is away", "start it")
    never = Gap("server", CLUSTER, "never offered", "none", requested=False)
    snapshots = evidence_of({"base": BASE}).get(SnapshotSeries)
    assert snapshots is not None
    evidence = EvidenceSet({SnapshotSeries: snapshots, Gaps: Gaps((endpoint, never, server))}, {})
    assert Visibility(evidence, Narrowing()).unseen([]) == server
    assert Visibility(evidence, ORDERS).unseen([]) is None
