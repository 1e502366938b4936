"""What rules with packet evidence say of connections that no capture of the fixtures has: every status and error that
servers send, ties between captures, and figures at the bounds of their words.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from jsdoctor.checks.packet_reordering.losses import LossFigures, losses
from jsdoctor.checks.packets.views import DirectionView
from jsdoctor.model.finding import Confidence, Finding, Outcome, Severity
from jsdoctor.model.latency import LatencyTally
from jsdoctor.model.nats_traffic import Content, NatsConnection, NatsTraffic, ProtocolError, Publishing
from jsdoctor.model.packets import (
    Attempts,
    Capture,
    Flow,
    OrderProof,
    PacketEvidence,
    PathDelay,
    Quantiles,
    Reordering,
    Retransmission,
    SocketAddress,
    TcpConnection,
)
from tests.support.packet_cases import only_packets
from tests.support.ruleset import run_rule

MS, S = 1_000_000, 1_000_000_000
START = 1_790_000_000 * S
CLIENT, SERVER = SocketAddress("10.0.0.9", 40000), SocketAddress("10.0.0.1", 4222)
BUSY = Flow(distinct_packets=1000, distinct_bytes=100_000, packets=1000)


def moment(at_ns: int) -> datetime:
    return datetime.fromtimestamp(at_ns / 1e9, UTC)


def tcp(to_server: Flow = BUSY, to_client: Flow = BUSY, **fields: Any) -> TcpConnection:
    known: dict[str, Any] = {"capture": 0, "number": 1, "client": CLIENT, "server": SERVER}
    times = {"first_ns": START, "last_ns": START + 60 * S}
    return TcpConnection(**(known | times | {"to_server": to_server, "to_client": to_client} | fields))


def talk(**fields: Any) -> NatsConnection:
    known: dict[str, Any] = {"number": 1, "content": Content.NATS, "gapless": True, "whole": True}
    return NatsConnection(**(known | fields))


def capture(name: str = "a.pcap", **fields: Any) -> Capture:
    known: dict[str, Any] = {"name": name, "packets": 2000, "tcp": 2000}
    return Capture(**(known | fields))


def seen(nats: NatsConnection, connection: TcpConnection | None = None, **fields: Any) -> PacketEvidence:
    """One capture of one connection."""
    traffic = (NatsTraffic(capture=0, connections=(nats,)),)
    return PacketEvidence(captures=(capture(),), connections=(connection or tcp(),), nats=traffic, **fields)


def judged(code: str, packets: PacketEvidence, **params: Any) -> list[Finding]:
    evaluation = run_rule(code, only_packets(packets), params, keep_passes=True)
    return [result.finding for result in evaluation.results]


def only(code: str, packets: PacketEvidence, **params: Any) -> Finding:
    (finding,) = judged(code, packets, **params)
    return finding


def latencies(*durations_ns: int) -> Any:
    tally = LatencyTally()
    tally.add_all(durations_ns)
    return tally.latencies()


def test_several_errors_of_the_protocol() -> None:
    errors = (
        ProtocolError("Unknown Protocol Operation", 2, START + S, START + 9 * S),
        ProtocolError("Parser Error", 1, START + 2 * S, START + 3 * S, from_server=False),
    )
    finding = only("JSD506", seen(talk(errors=errors)))
    assert finding.message == (
        "the server sent the client 2 times 'Unknown Protocol Operation'; the client sent the server 'Parser Error'"
    )
    assert (finding.first_seen, finding.last_seen) == (moment(START + S), moment(START + 9 * S))
    assert finding.evidence[-1].value == "still open"


def attempts(clients: int, unanswered: int) -> Attempts:
    return Attempts(server=SERVER, tried=unanswered, unanswered=unanswered, clients=clients, first_ns=START)


@pytest.mark.parametrize(("clients", "words"), [(999, "from 999"), (1000, "from 1,000 or more")])
def test_the_addresses_of_a_flood(clients: int, words: str) -> None:
    finding = only("JSD510", PacketEvidence(captures=(capture(attempts=(attempts(clients, 1000),)),)))
    assert finding.severity is Severity.ERROR
    assert finding.message.endswith(f"; {words} addresses, which is how a flood of SYNs looks")


def direction(path: PathDelay | None = None, **again: int) -> LossFigures | None:
    flow = Flow(distinct_packets=1000, retransmission=Retransmission(**again))
    return losses(DirectionView("the client", "the server", flow, path))


@pytest.mark.parametrize(("sent_again", "exact"), [(1, True), (2, True), (3, False)])
def test_two_captures_count_where_they_explain_half_of_what_was_sent_again(sent_again: int, *, exact: bool) -> None:
    figures = direction(PathDelay(sent=1000, lost=1), segments=sent_again, packets=sent_again, upstream=sent_again)
    assert figures is not None
    assert figures.exact is exact
    if not exact:
        assert figures.words == (
            "3 of 1,000 segments were sent again (0.3 %), of which 1 were lost between the two captures: the others"
            " before or behind both, or their acks"
        )


def lossy(proof: OrderProof = OrderProof.IP_ID, distinct: int = 1000, **again: int) -> TcpConnection:
    return tcp(BUSY, Flow(distinct_packets=distinct, proof=proof, retransmission=Retransmission(**again)))


@pytest.mark.parametrize(
    ("proof", "confidence"),
    [(OrderProof.IP_ID, Confidence.HIGH), (OrderProof.TIMESTAMPS, Confidence.HIGH), (OrderProof.TIME, Confidence.LOW)],
)
def test_confidence_is_that_of_the_proof(proof: OrderProof, confidence: Confidence) -> None:
    lost = lossy(proof, packets=100, segments=100)
    assert only("JSD502", seen(talk(), lost)).confidence is confidence
    late = tcp(BUSY, Flow(distinct_packets=1000, proof=proof, reordering=Reordering(segments=100)))
    assert only("JSD501", seen(talk(), late)).confidence is confidence


def reordered(to_client: Flow, to_server: Flow = BUSY, **params: Any) -> Finding:
    return only("JSD501", seen(talk(), tcp(to_server, to_client)), **params)


def test_reordering_on_both_sides_of_the_capture_point() -> None:
    order = Reordering(
        segments=1,
        downstream=1,
        extent=Quantiles(1, 2, 2, 2, 2),
        late_ns=Quantiles(1, MS, MS, MS, MS),
        place="eth0",
        in_order_at="eth1",
    )
    finding = reordered(Flow(distinct_packets=1000, reordering=order, duplicates=1))
    assert finding.message == (
        "from the server to the client 1 of 1,000 segments (0.1 %) arrived behind later ones, by at most 2 segments and"
        " 1ms at eth0, though they were in order at eth1, at least 1 changed places behind the capture point, 1 packet"
        " arrived twice: TCP puts the bytes in order again, so no message of a connection changes its place"
    )
    assert [item.value for item in finding.evidence if item.path.endswith(": at")] == ["eth0"]
    both = Reordering(segments=1, downstream=1)
    assert reordered(Flow(distinct_packets=1000, reordering=both)).severity is Severity.INFO
    elsewhere = Reordering(segments=1, place="eth0")
    assert "and 0s at eth0: TCP" in reordered(Flow(distinct_packets=1000, reordering=elsewhere)).message


def slow(connection: TcpConnection | None = None, waiting: tuple[int, ...] = (), **fields: Any) -> Finding:
    acked = latencies(*[MS] * 90, *[300 * MS] * 10)
    publishing = Publishing(acks=100, ack_ns=acked, waiting_ns=latencies(*waiting), unanswered=len(waiting))
    return only("JSD505", seen(talk(publishing=publishing), connection, **fields))


def test_late_and_missing_acknowledgements_count_together() -> None:
    def severity(late: int, never: int, acked: int) -> Severity | None:
        waited = latencies(*[MS] * (acked - late), *[300 * MS] * late)
        waiting = latencies(*[250 * MS] * never)
        publishing = Publishing(acks=acked, ack_ns=waited, waiting_ns=waiting, unanswered=never)
        return only("JSD505", seen(talk(publishing=publishing)), timeout="210ms").severity

    assert severity(5, 0, 100) is Severity.ERROR
    assert severity(0, 1, 100) is Severity.ERROR
    assert severity(1, 1, 100) is Severity.ERROR


def test_how_a_slow_consumer_was_closed() -> None:
    errors = (ProtocolError("Slow Consumer", 1, START, START),)
    stopped = Flow(distinct_packets=10, zero_windows=1, longest_zero_window_ns=12 * S, zero_until_ns=START + 12 * S)
    ended = Flow(distinct_packets=10, ended_ns=START + 13 * S)
    head = "the client did not read for up to 12s at a time, and the server ended the connection"
    finding = only("JSD522", seen(talk(errors=errors), tcp(stopped, ended)))
    assert finding.message == f"{head} with -ERR 'Slow Consumer'"
    other = (ProtocolError("Stale Connection", 1, START, START),)
    finding = only("JSD522", seen(talk(errors=other), tcp(stopped, ended)))
    assert finding.message == f"{head} without a message, as it does with slow consumers"
    assert only("JSD522", seen(talk(errors=errors))).outcome is Outcome.FAIL
    assert only("JSD522", seen(talk(errors=other))).outcome is Outcome.PASS
