"""What an expected sequence and the stream tell about a refused publish, to the word."""

from __future__ import annotations

import msgspec
import pytest

from jsdoctor.engine.expectation import AHEAD, STALE, told_by
from jsdoctor.model.expectation import RefusedPublish, StoredMessage
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from tests.support.evidence import evidence_of

NEXT = StoredMessage(1091, "orders.new", "id-1")
READ_AGAIN = "The publisher must read the last sequence again"


def orders(last_seq: int = 1100) -> Stream:
    series = evidence_of({"base": "three-nodes-2.15.1"}).get(SnapshotSeries)
    assert series is not None
    recorded = next(stream for stream in series.last.streams if stream.name == "ORDERS")
    return msgspec.structs.replace(recorded, state=msgspec.structs.replace(recorded.state, last_seq=last_seq))


@pytest.mark.parametrize(
    ("refused", "code", "message", "severity"),
    [
        (
            RefusedPublish(None, actual_seq=1101),
            AHEAD,
            (
                "when the publish was refused the stream was at 1,101, now it ends at 1,100: since then it was deleted"
                " and created again, restored or lost its end"
            ),
            None,
        ),
        (
            RefusedPublish(1101),
            AHEAD,
            (
                "the publisher expects 1,101, but the stream ends at 1,100: it was deleted and created again, restored"
                " or lost its end. It accepts nothing from this publisher until that reads the last sequence again"
            ),
            None,
        ),
        (
            RefusedPublish(1090, actual_seq=0),
            AHEAD,
            (
                "the publisher expected 1,090, and the server compared it with a subject of which nothing is stored any"
                " more: messages of it were purged or removed, or the stream was recreated and has grown since."
                f" {READ_AGAIN}; for a subject without messages that is 0"
            ),
            None,
        ),
        (
            RefusedPublish(1090, actual_seq=1089),
            AHEAD,
            (
                "the publisher expected 1,090, and the server compared it with 1,089: messages of it were purged or"
                f" removed, or the stream was recreated and has grown since. {READ_AGAIN}"
            ),
            None,
        ),
        (
            RefusedPublish(1090),
            STALE,
            (
                "the publisher expects 1,090, the stream is at 1,100: 10 messages were stored since by another"
                " publisher, or by itself. It must read the last sequence again"
            ),
            None,
        ),
        (
            RefusedPublish(1090, "id-1", None, NEXT),
            STALE,
            (
                "the publisher expects 1,090, the stream is at 1,100, and message 1,091 has the very id id-1: the first"
                " attempt was stored and its acknowledgement lost. The publish is a success; only the retry was refused"
            ),
            Severity.INFO,
        ),
        (
            RefusedPublish(1090, "id-2", None, NEXT),
            STALE,
            (
                "the publisher expects 1,090, the stream is at 1,100: message 1,091 on orders.new with the id id-1 came"
                f" first, from another writer. {READ_AGAIN}"
            ),
            None,
        ),
        (
            RefusedPublish(1090, "", None, StoredMessage(1091, "orders.new")),
            STALE,
            (
                "the publisher expects 1,090, the stream is at 1,100: message 1,091 on orders.new without an id came"
                f" first. {READ_AGAIN}"
            ),
            None,
        ),
    ],
)
def test_a_refused_publish(refused: RefusedPublish, code: str, message: str, severity: Severity | None) -> None:
    stream = orders()
    finding = told_by(refused, stream)[code]
    assert (finding.outcome, finding.severity, finding.message) == (Outcome.FAIL, severity, message)
    assert (finding.subject, finding.measured, finding.threshold, finding.unit) == (
        stream.subject,
        refused.expected_seq,
        1100,
        "count",
    )
    shown: list[tuple[str, object]] = [("state.last_seq", 1100)]
    if refused.follower:
        shown += [("message 1091", "orders.new"), ("message 1091 Nats-Msg-Id", refused.follower.msg_id)]
    assert [(item.path, item.value) for item in finding.evidence] == shown


def test_the_other_rule_passes() -> None:
    for refused, failing in (
        (RefusedPublish(1101), AHEAD),
        (RefusedPublish(1090, actual_seq=1), AHEAD),
        (RefusedPublish(1099), STALE),
        (RefusedPublish(1090, actual_seq=1090), STALE),
    ):
        findings = told_by(refused, orders())
        assert {code: finding.outcome for code, finding in findings.items()} == {
            code: Outcome.FAIL if code == failing else Outcome.PASS for code in (STALE, AHEAD)
        }


def test_what_cannot_be_decided() -> None:
    right = told_by(RefusedPublish(1100), orders())
    assert right[AHEAD].outcome is Outcome.PASS
    assert (right[STALE].outcome, right[STALE].message, right[STALE].how_to_get) == (
        Outcome.NOT_EVALUATED,
        "expecting 1,100 is right by now: the same publish would be stored",
        "give what it expected when it was refused, or its log with --logs PATH",
    )
    assert told_by(RefusedPublish(None, actual_seq=1100), orders()) == {}
    assert told_by(RefusedPublish(None), orders(0)) == {}
    follower = told_by(RefusedPublish(1), msgspec.structs.replace(orders(), from_leader=False))
    assert {(code, finding.outcome, finding.message, finding.how_to_get) for code, finding in follower.items()} == {
        (code, Outcome.NOT_EVALUATED, "the stream was not seen from its leader", "look again when it has a leader")
        for code in (STALE, AHEAD)
    }
