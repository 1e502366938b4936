"""What is said of a stream or consumer that was not seen, or not from where it can be judged."""

from typing import Any

import msgspec
import pytest

from jsdoctor.engine.diagnosis import Visibility
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.evidence import EvidenceSet, EvidenceSource, Gaps
from jsdoctor.model.finding import CLUSTER, Subject, passed
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import SnapshotSeries, Stream, UnresponsiveAsset
from jsdoctor.pages.symptom_page import parse_symptom_page
from jsdoctor.sources.rule_pages import symptom_pages
from tests.support.evidence import evidence_of
from tests.support.ruleset import rules

BILLING = Narrowing(stream="ORDERS", consumer="billing")
WORKERS = next(rule for rule in rules() if rule.code == "JSD427")
STALLED = next(
    parse_symptom_page(page.origin, page.text)
    for page in symptom_pages()
    if page.origin.endswith("/consumer-stalled.md")
)
MIRRORS = next(rule for rule in rules() if rule.code == "JSD607")


def seen(
    *streams: dict[str, Any], consumer: dict[str, Any] | None = None, gaps: tuple[Gap, ...] = (), silent: str = ""
) -> EvidenceSet:
    """A recording of one sample with a copy of ORDERS in an account of its own for each of `streams`.

    `silent` is a stream that did not respond, as its consumer billing did not.
    """
    evidence = evidence_of({"base": "three-nodes-2.15.1", "samples": 1})
    series = evidence.get(SnapshotSeries)
    assert series is not None
    orders = next(stream for stream in series.last.streams if stream.name == "ORDERS")
    workers = tuple(
        msgspec.structs.replace(worker, **(consumer or {})) if worker.name == "billing" else worker
        for worker in orders.consumers
    )
    copies = [
        msgspec.structs.replace(orders, **{"account": f"A{place}", "consumers": workers, **fields})
        for place, fields in enumerate(streams)
    ]
    unresponsive: tuple[UnresponsiveAsset, ...] = ()
    if silent:
        unresponsive = (
            UnresponsiveAsset(Subject(kind="consumer", name="ORDERS", stream="EARLIER"), "another reason"),
            UnresponsiveAsset(Subject(kind="stream", name=silent), "its leader did not respond"),
            UnresponsiveAsset(Subject(kind="consumer", name="billing", stream=silent), "it has no leader"),
        )
    snapshot = msgspec.structs.replace(series.last, streams=tuple(copies), silent=unresponsive)
    return evidence.joined(SnapshotSeries((snapshot,)), gaps)


def orders_of(evidence: EvidenceSet) -> Stream:
    """The first copy of ORDERS."""
    series = evidence.get(SnapshotSeries)
    assert series is not None
    return series.last.streams[0]


def test_a_consumer_of_one_leader_is_enough() -> None:
    unled = msgspec.structs.replace(orders_of(seen({})).consumers[0], name="billing", from_leader=False)
    for other in ({"from_leader": False}, {"consumers": (unled,)}):
        assert Visibility(seen(other, {}), BILLING).notes == ()
    visibility = Visibility(seen({"from_leader": False}, {}), BILLING)
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
        (seen(silent="ORDERS"), BILLING, "stream ORDERS is there, but could not be seen: its leader did not respond"),
        (seen(silent="OTHER"), BILLING, "no stream ORDERS was seen"),
        (
            seen({"consumers": ()}, silent="ORDERS"),
            BILLING,
            "consumer billing is there, but could not be seen: it has no leader",
        ),
        (seen({"consumers": ()}, silent="OTHER"), BILLING, "no consumer billing was seen on ORDERS"),
        (
            seen({"consumers": ()}, silent="ORDERS"),
            Narrowing(stream="ORDERS", consumer="archive"),
            "no consumer archive was seen on ORDERS",
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


def test_streams_alone_show_what_runs() -> None:
    """A login of a plain account sees no servers, and one sample shows no trend."""
    series = seen({}).get(SnapshotSeries)
    assert series is not None
    alone = EvidenceSet({SnapshotSeries: series, Gaps: Gaps(())}, {})
    assert Visibility(alone, BILLING).unseen(STALLED, WORKERS, ()) is None
    nothing = Visibility(EvidenceSet({Gaps: Gaps(())}, {}), BILLING).unseen(STALLED, WORKERS, ())
    assert nothing is not None
    assert nothing.reason == "no running deployment was checked"


@pytest.mark.parametrize(("listed", "hidden"), [(0, None), (1, "1 consumer of stream ORDERS was not seen")])
def test_a_stream_that_has_more_consumers_than_were_seen_hides_them(listed: int, hidden: str | None) -> None:
    orders = orders_of(seen({}))
    count = len(orders.consumers) + listed
    state = msgspec.structs.replace(orders.state, consumer_count=count)
    visibility = Visibility(seen({"state": state}), Narrowing(stream="ORDERS"))
    gap = visibility.unseen(STALLED, WORKERS, ())
    assert (gap.reason if gap else None) == hidden
    assert gap is None or gap.how_to_get == "give `nats consumer info ORDERS CONSUMER` as well, or -s URL"
    assert visibility.unseen(STALLED, MIRRORS, ()) is None
    assert Visibility(seen({"state": state}), BILLING).unseen(STALLED, WORKERS, ()) is None


def test_a_healthy_stream_rules_nothing_out_about_consumers_that_were_not_seen() -> None:
    state = msgspec.structs.replace(orders_of(seen({})).state, consumer_count=9)
    visibility = Visibility(seen({"state": state}), Narrowing())
    stream = _passed(Subject(kind="stream", name="ORDERS", account="APP"))
    consumer = _passed(Subject(kind="consumer", name="billing", stream="ORDERS", account="APP"))
    assert visibility.unseen(STALLED, WORKERS, [stream]) is not None
    assert visibility.unseen(STALLED, WORKERS, [consumer]) is None
    assert visibility.unseen(STALLED, MIRRORS, [stream]) is None


def _passed(subject: Subject) -> Result:
    return Result(WORKERS, passed(subject))
