"""What is said of a stream or consumer that was not seen, or not from where it can be judged."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jsdoctor.collect.rule_pages import symptom_pages
from jsdoctor.engine.visibility import Visibility
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.evidence_kinds import EvidenceSource
from jsdoctor.model.finding import CLUSTER, Subject, passed
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.parse.symptom_page import parse_symptom_page
from tests.evidence import evidence_of
from tests.ruleset import rules

BILLING = Narrowing(stream="ORDERS", consumer="billing")
WORKERS = next(rule for rule in rules() if rule.code == "JSD427")
STALLED = next(
    parse_symptom_page(page.origin, page.text)
    for page in symptom_pages()
    if page.origin.endswith("/consumer-stalled.md")
)
MIRRORS = next(rule for rule in rules() if rule.code == "JSD607")


def seen(*streams: dict[str, Any], consumer: dict[str, Any] | None = None, gaps: tuple[Gap, ...] = ()) -> EvidenceSet:
    """A recording of one sample with a copy of ORDERS in an account of its own for each of `streams`."""
    evidence = evidence_of({"base": "three-nodes-2.15.1", "samples": 1})
    series = evidence.get(SnapshotSeries)
    assert isinstance(series, SnapshotSeries)
    orders = next(stream for stream in series.last.streams if stream.name == "ORDERS")
    workers = tuple(
        msgspec.structs.replace(worker, **(consumer or {})) if worker.name == "billing" else worker
        for worker in orders.consumers
    )
    copies = [
        msgspec.structs.replace(orders, **{"account": f"A{place}", "consumers": workers, **fields})
        for place, fields in enumerate(streams)
    ]
    snapshot = msgspec.structs.replace(series.last, streams=tuple(copies))
    return evidence.joined(SnapshotSeries((snapshot,)), gaps)


def test_a_consumer_of_one_leader_is_enough() -> None:
    visibility = Visibility(seen({"from_leader": False}, {}), BILLING)
    assert visibility.notes == ()
    assert visibility.accounts == {"A0", "A1"}
    assert visibility.unseen(STALLED, WORKERS, ()) is None


@pytest.mark.parametrize(
    ("evidence", "narrowing", "note"),
    [
        (seen({"from_leader": False}), BILLING, "stream ORDERS was not seen from a leader, so its state says nothing"),
        (seen(), BILLING, "no stream ORDERS was seen"),
        (
            seen({}, consumer={"from_leader": False}),
            BILLING,
            "consumer billing was not seen from its leader, so its state says nothing",
        ),
        (seen({}), Narrowing(stream="ORDERS", consumer="x"), "no consumer x was seen on ORDERS"),
        (
            seen({}, {"consumers_seen": False}),
            Narrowing(stream="ORDERS", consumer="x"),
            "no consumer x was seen on ORDERS; not all of them were seen",
        ),
    ],
)
def test_notes(evidence: EvidenceSet, narrowing: Narrowing, note: str) -> None:
    visibility = Visibility(evidence, narrowing)
    assert visibility.notes == (note,)
    assert visibility.unseen(STALLED, WORKERS, ()) == Gap(
        "stream",
        Subject(kind="stream", name="ORDERS"),
        note,
        "see that its servers run, and look again with a login that sees it",
    )


@pytest.mark.parametrize("kind", ["stream", "consumer", "server", "account", "connection", "bundle"])
def test_any_of_these_gaps_may_hide_what_is_not_narrowed(kind: str) -> None:
    gap = Gap(kind, CLUSTER, "not read", "read it")
    other = Gap("clock", CLUSTER, "not read", "read it")
    evidence = seen({}, gaps=(other, gap))
    assert Visibility(evidence, Narrowing()).unseen(STALLED, WORKERS, ()) == gap
    assert Visibility(evidence, BILLING).unseen(STALLED, WORKERS, ()) is None
    assert Visibility(seen({}, gaps=(other,)), Narrowing()).unseen(STALLED, WORKERS, ()) is None


def test_an_expected_sequence_is_a_source_of_evidence() -> None:
    assert EvidenceSource.EXPECTED in Visibility(seen({}), Narrowing(stream="ORDERS", expected_seq=0)).ways
    assert EvidenceSource.EXPECTED not in Visibility(seen({}), BILLING).ways


@pytest.mark.parametrize(("listed", "hidden"), [(0, None), (1, "1 consumer of stream ORDERS was not seen")])
def test_a_stream_that_has_more_consumers_than_were_seen_hides_them(listed: int, hidden: str | None) -> None:
    series = seen({}).get(SnapshotSeries)
    assert isinstance(series, SnapshotSeries)
    orders = series.last.streams[0]
    count = len(orders.consumers) + listed
    state = msgspec.structs.replace(orders.state, consumer_count=count)
    visibility = Visibility(seen({"state": state}), Narrowing(stream="ORDERS"))
    gap = visibility.unseen(STALLED, WORKERS, ())
    assert (gap.reason if gap else None) == hidden
    assert visibility.unseen(STALLED, MIRRORS, ()) is None
    assert Visibility(seen({"state": state}), BILLING).unseen(STALLED, WORKERS, ()) is None


def test_a_healthy_stream_rules_nothing_out_about_consumers_that_were_not_seen() -> None:
    series = seen({}).get(SnapshotSeries)
    assert isinstance(series, SnapshotSeries)
    state = msgspec.structs.replace(series.last.streams[0].state, consumer_count=9)
    visibility = Visibility(seen({"state": state}), Narrowing())
    stream = _passed(Subject(kind="stream", name="ORDERS", account="APP"))
    consumer = _passed(Subject(kind="consumer", name="billing", stream="ORDERS", account="APP"))
    assert visibility.unseen(STALLED, WORKERS, [stream]) is not None
    assert visibility.unseen(STALLED, WORKERS, [consumer]) is None
    assert visibility.unseen(STALLED, MIRRORS, [stream]) is None


def _passed(subject: Subject) -> Result:
    return Result(WORKERS, passed(subject))
