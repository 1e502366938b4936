"""What an expected sequence and the stream tell about a refused publish, to the word."""

import msgspec

from jsdoctor.engine.expectation import AHEAD, STALE, findings_on_expectation
from jsdoctor.model.expectation import RefusedPublish, StoredMessage
from jsdoctor.model.finding import Outcome
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from tests.support.evidence import evidence_of


def orders(last_seq: int = 1100) -> Stream:
    series = evidence_of({"base": "three-nodes-2.15.1"}).get(SnapshotSeries)
    assert series is not None
    recorded = next(stream for stream in series.last.streams if stream.name == "ORDERS")
    return msgspec.structs.replace(recorded, state=msgspec.structs.replace(recorded.state, last_seq=last_seq))


def test_what_cannot_be_decided() -> None:
    right = findings_on_expectation(RefusedPublish(1100), orders())
    assert right[AHEAD].outcome is Outcome.PASS
    assert (right[STALE].outcome, right[STALE].message, right[STALE].how_to_get) == (
        Outcome.NOT_EVALUATED,
        "expecting 1,100 is right by now: the same publish would be stored",
        "give what it expected when it was refused, or its log with --logs PATH",
    )
    assert findings_on_expectation(RefusedPublish(None, actual_seq=1100), orders()) == {}
    assert findings_on_expectation(RefusedPublish(None), orders(0)) == {}
    follower = findings_on_expectation(RefusedPublish(1), msgspec.structs.replace(orders(), from_leader=False))
    assert {(code, finding.outcome, finding.message, finding.how_to_get) for code, finding in follower.items()} == {
        (code, Outcome.NOT_EVALUATED, "the stream was not seen from its leader", "look again when it has a leader")
        for code in (STALE, AHEAD)
    }


def test_a_key_is_compared_with_its_own_last_sequence() -> None:
    bucket = msgspec.structs.replace(orders(200), name="KV_config")
    winner = StoredMessage(7, "$KV.config.colour")
    named = findings_on_expectation(RefusedPublish(5, actual_seq=7, follower=winner), bucket)[STALE]
    assert named.message == (
        "the publisher expects revision 5 of its key, and the server compared it with 7: message 7 on"
        " $KV.config.colour without an id came first. The publisher must read the last sequence again"
    )
    alone = findings_on_expectation(RefusedPublish(5), bucket)[STALE]
    assert alone.message.startswith("the publisher expects revision 5 of its key: the key was written since by another")
