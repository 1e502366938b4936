"""What rules with packet evidence say of connections that no capture of the fixtures has: every status and error that
servers send, ties between captures, and figures at the bounds of their words.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jsdoctor.checks.packet_reordering.losses import LossFigures, losses
from jsdoctor.checks.packets.views import DirectionView, unreadable, views
from jsdoctor.checks.packets.words import percent, rounded
from jsdoctor.model.finding import Confidence, Finding, Outcome, Severity
from jsdoctor.model.latency import LatencyTally
from jsdoctor.model.nats_traffic import (
    ApiFailure,
    ApiTraffic,
    ConsumerTraffic,
    Content,
    NatsConnection,
    NatsTraffic,
    ProtocolError,
    Publishing,
    RefusedPublishes,
    Retry,
    StatusMessages,
)
from jsdoctor.model.packets import (
    Attempts,
    Capture,
    CaptureClockStep,
    Flow,
    OrderProof,
    PacketEvidence,
    PairedConnection,
    PathDelay,
    Quantiles,
    Reordering,
    Retransmission,
    SocketAddress,
    TcpConnection,
    UnmatchedCaptures,
    WhyUnmatched,
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


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.0012, "0.12 %"), (0.034, "3.4 %"), (0.0999, "10 %"), (0.12, "12 %"), (1.0, "100 %")]
)
def test_percent(ratio: float, text: str) -> None:
    assert percent(ratio) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (999, "999ns"),
        (1_000, "1µs"),
        (1_234_567, "1.23ms"),
        (99_900_000, "99.9ms"),
        (100_600_000, "100ms"),
        (100 * S, "1m40s"),
        (3_723 * S, "1h2m"),
    ],
)
def test_rounded(duration_ns: int, text: str) -> None:
    assert rounded(duration_ns) == text


@pytest.mark.parametrize("port", [4222, 5222, 6222, 7222, 7422, 8443])
def test_what_cannot_be_read_on_a_port_of_nats_may_be_nats(port: int) -> None:
    unread = talk(content=Content.TLS)
    (view,) = views(seen(unread, tcp(server=SocketAddress("10.0.0.1", port))))
    assert unreadable(view)
    assert list(views(seen(unread, tcp(server=SocketAddress("10.0.0.1", 443))))) == []


def test_a_connection_whose_reading_began_again_may_lack_traffic() -> None:
    assert [unreadable(view) for view in views(seen(talk(resyncs=1)))] == [True]
    assert [unreadable(view) for view in views(seen(talk()))] == [False]


def statuses(*texts: str, code: int = 409) -> NatsConnection:
    return talk(statuses=tuple(StatusMessages(code, text, 1, START, START + S) for text in texts))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Exceeded MaxWaiting", "more pulls wait than max_waiting of the consumer allows"),
        ("Exceeded MaxRequestBatch of 100", "the batch is larger than max_batch of the consumer allows"),
        ("Exceeded MaxRequestExpires of 5s", "the pull waits longer than max_expires of the consumer allows"),
        ("Exceeded MaxRequestMaxBytes of 1024", "the pull requests more bytes than max_bytes of the consumer allows"),
        ("Consumer Deleted", "the consumer was deleted, or it was inactive too long"),
        ("Consumer is push based", "a push consumer cannot be pulled from"),
        ("Leadership Change", "the consumer has a new leader; clients pull again"),
        ("Server Shutdown", "the server of the consumer's leader was stopped; clients pull again"),
        ("Exceeded MaxAckPending", "too many messages wait for their acks"),
    ],
)
def test_statuses_that_end_pulls(text: str, meaning: str) -> None:
    finding = only("JSD516", seen(statuses(text)))
    assert finding.message == f"the server ended pulls: 1 with '409 {text}' ({meaning})"


def test_a_status_without_a_known_meaning_is_quoted() -> None:
    finding = only("JSD516", seen(statuses("Bad Request", code=400)))
    assert finding.message == "the server ended pulls: 1 with '400 Bad Request'"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (404, "No Messages"),
        (408, "Request Timeout"),
        (409, "Batch Completed"),
        (409, "Message Size Exceeds MaxBytes"),
        (100, "Idle Heartbeat"),
    ],
)
def test_statuses_with_which_pulls_end_as_they_should(code: int, text: str) -> None:
    assert only("JSD516", seen(statuses(text, code=code))).outcome is Outcome.PASS


def test_four_statuses_are_named() -> None:
    finding = only("JSD516", seen(statuses("A", "B", "C", "D", "E")))
    assert finding.measured == 5
    assert finding.message == ("the server ended pulls: 1 with '409 A'; 1 with '409 B'; 1 with '409 C'; 1 with '409 D'")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            "Stale Connection",
            "the other side responded to no PING: it hangs, or the network swallows what is sent",
        ),
        (
            "Maximum Payload Violation",
            "a message is larger than max_payload, and the server closes the connection for it",
        ),
        ("Authorization Violation", "the login is wrong or may not connect here"),
        ("Authentication Timeout", "the login came too late: a slow network or a slow server"),
        ("User Authentication Expired", "the login is no longer valid"),
        ("maximum connections exceeded", "the server, or the account, takes no more connections"),
        ("Secure Connection - TLS Required", "the client did not use TLS"),
        ("Slow Consumer", "the client reads too slowly"),
    ],
)
def test_errors_of_the_protocol(text: str, meaning: str) -> None:
    finding = only("JSD506", seen(talk(errors=(ProtocolError(text, 1, START, START),))))
    assert finding.message == f"the server sent the client '{text}': {meaning}"


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


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (
            WhyUnmatched.OTHER_TIME,
            "they were taken at different times, or the clock of one host is wrong by more than that",
        ),
        (
            WhyUnmatched.OTHER_NUMBERS,
            (
                "the same addresses and ports carry other sequence numbers: a proxy or a renumbering firewall is"
                " between them"
            ),
        ),
        (WhyUnmatched.ONE_SIDED, "one of them has one direction only"),
        (
            WhyUnmatched.NOTHING_COMMON,
            (
                "no connection has the same addresses, nor the same packets under other ones: a proxy is between them,"
                " or they show different connections"
            ),
        ),
    ],
)
@pytest.mark.parametrize(("names", "severity"), [(("a", "b"), None), (("a", "b", "c"), Severity.INFO)])
def test_captures_that_share_no_connection(
    why: WhyUnmatched, words: str, names: tuple[str, ...], severity: Severity | None
) -> None:
    """A third capture may be the one that matches: then it is no more than a remark."""
    finding = only(
        "JSD507",
        PacketEvidence(
            captures=tuple(map(capture, names)),
            connections=tuple(tcp(capture=number) for number in range(len(names))),
            unmatched=(UnmatchedCaptures(1, 0, why),),
        ),
    )
    assert (finding.subject.name, finding.severity) == ("a + b", severity)
    assert finding.message == (
        "no connection of one was found in the other, so each was judged alone and loss is not exact: " + words
    )


def test_the_largest_step_of_a_clock_decides() -> None:
    sizes = (300 * MS, -2 * S, 400 * MS, -500 * MS, 600 * MS)
    steps = tuple(CaptureClockStep(START + number * S, by_ns) for number, by_ns in enumerate(sizes))
    finding = only("JSD508", PacketEvidence(captures=(capture(clock_steps=steps),)))
    assert (finding.measured, finding.severity) == (2 * S, None)
    assert "capture: 300ms forward, 2s back, 400ms forward, 500ms back, while TCP" in finding.message


def attempts(clients: int, unanswered: int) -> Attempts:
    return Attempts(server=SERVER, tried=unanswered, unanswered=unanswered, clients=clients, first_ns=START)


@pytest.mark.parametrize(("clients", "words"), [(999, "from 999"), (1000, "from 1,000 or more")])
def test_the_addresses_of_a_flood(clients: int, words: str) -> None:
    finding = only("JSD510", PacketEvidence(captures=(capture(attempts=(attempts(clients, 1000),)),)))
    assert finding.severity is Severity.ERROR
    assert finding.message.endswith(f"; {words} addresses, which is how a flood of SYNs looks")


def test_of_several_captures_the_one_with_most_attempts_counts() -> None:
    def source(*counts: int) -> str:
        captures = tuple(
            capture(name, attempts=(attempts(1, count),)) for name, count in zip("abc", counts, strict=True)
        )
        return only("JSD510", PacketEvidence(captures=captures)).evidence[0].source

    assert [source(5, 5, 4), source(5, 6, 6), source(5, 6, 7)] == ["a", "b", "c"]


def reset(*errors: str, unanswered: int = 0, hops: int = 0, by_client: bool = False) -> Finding:
    cut = Flow(distinct_bytes=1000, distinct_packets=10, cut_ns=START + S, cut_hops=hops)
    errors_sent = tuple(ProtocolError(text, 1, START, START) for text in errors)
    connection = tcp(cut, BUSY) if by_client else tcp(BUSY, cut)
    return only("JSD521", seen(talk(publishing=Publishing(unanswered=unanswered), errors=errors_sent), connection))


def test_resets_of_connections() -> None:
    head = "the server reset the connection (RST) while it was in use; "
    assert reset().message == (
        f"{head}without a message: it was stopped, or closed the connection while more was coming in"
    )
    assert reset("First", "Last").message.startswith(f"{head}after -ERR 'Last': it was stopped")
    assert reset("Last").message.startswith(f"{head}after -ERR 'Last': it was stopped")
    assert reset(unanswered=1).message.startswith(f"{head}1 publish to JetStream had no reply yet; without")
    assert reset(unanswered=2).message.startswith(f"{head}2 publishes to JetStream had no reply yet; without")


@pytest.mark.parametrize(("hops", "severity"), [(2, Severity.INFO), (3, None)])
def test_a_reset_of_another_distance_came_from_between(hops: int, severity: Severity | None) -> None:
    finding = reset(hops=hops, by_client=True)
    assert finding.severity is severity
    assert ("a device between the two sent it" in finding.message) == (severity is None)


def direction(path: PathDelay | None = None, **again: int) -> LossFigures | None:
    flow = Flow(distinct_packets=1000, retransmission=Retransmission(**again))
    return losses(DirectionView("the client", "the server", flow, path))


@pytest.mark.parametrize(
    ("packets", "needless", "doubtful"), [(2, 1, True), (3, 1, False), (3, 2, True), (1, 0, False)]
)
def test_loss_is_doubtful_if_half_of_it_had_arrived(packets: int, needless: int, *, doubtful: bool) -> None:
    figures = direction(segments=packets, packets=packets, needless=needless, needless_packets=needless)
    assert figures is not None
    assert figures.doubtful is doubtful


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


def test_connections_that_had_to_be_opened_again() -> None:
    figures = direction(syn=1)
    assert figures is not None
    assert figures.words == "opening the connection had to be tried again"
    assert direction() is None


def lossy(proof: OrderProof = OrderProof.IP_ID, distinct: int = 1000, **again: int) -> TcpConnection:
    return tcp(BUSY, Flow(distinct_packets=distinct, proof=proof, retransmission=Retransmission(**again)))


@pytest.mark.parametrize(
    ("proof", "confidence"),
    [
        (OrderProof.IP_ID, Confidence.HIGH),
        (OrderProof.TIMESTAMPS, Confidence.HIGH),
        (OrderProof.TIME, Confidence.LOW),
    ],
)
def test_confidence_is_that_of_the_proof(proof: OrderProof, confidence: Confidence) -> None:
    lost = lossy(proof, packets=100, segments=100)
    assert only("JSD502", seen(talk(), lost)).confidence is confidence
    late = tcp(BUSY, Flow(distinct_packets=1000, proof=proof, reordering=Reordering(segments=100)))
    assert only("JSD501", seen(talk(), late)).confidence is confidence


def test_loss_is_noted_from_one_in_a_thousand_on() -> None:
    assert only("JSD502", seen(talk(), lossy(packets=1, segments=1))).severity is Severity.INFO
    assert only("JSD502", seen(talk(), lossy(distinct=1001, packets=1, segments=1))).outcome is Outcome.PASS


@pytest.mark.parametrize(("wait_ns", "severity"), [(200 * MS - 1, Severity.INFO), (200 * MS, None)])
def test_doubtful_loss_that_stalls_the_connection_counts(wait_ns: int, severity: Severity | None) -> None:
    again: dict[str, Any] = {"packets": 4, "segments": 4, "needless": 2, "needless_packets": 2, "timeout": 1}
    assert only("JSD502", seen(talk(), lossy(longest_wait_ns=wait_ns, **again))).severity is severity


def test_a_timeout_in_vain_does_not_stall_the_connection() -> None:
    again: dict[str, Any] = {"packets": 4, "segments": 4, "needless": 2, "needless_packets": 2, "timeout": 1}
    finding = only("JSD502", seen(talk(), lossy(longest_wait_ns=200 * MS, needless_timeouts=1, **again)))
    assert finding.severity is Severity.INFO
    assert finding.message.endswith("; 1 after a timeout, though the receiver had it")


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
    assert "and 0ns at eth0: TCP" in reordered(Flow(distinct_packets=1000, reordering=elsewhere)).message


def test_packets_that_arrived_twice() -> None:
    assert reordered(Flow(distinct_packets=100, duplicates=1)).severity is Severity.INFO
    assert reordered(Flow(distinct_packets=1000, duplicates=1)).severity is Severity.INFO
    assert reordered(Flow(distinct_packets=1001, duplicates=1)).outcome is Outcome.PASS
    assert reordered(BUSY, note=0).outcome is Outcome.PASS


def test_a_direction_that_harms_goes_before_one_with_a_larger_share() -> None:
    harmed = Flow(distinct_packets=1000, reordering=Reordering(segments=20, three_reordered=20))
    finding = reordered(Flow(distinct_packets=4, reordering=Reordering(segments=2)), harmed)
    assert (finding.severity, finding.measured) == (None, 0.02)
    assert finding.message.startswith("from the client to the server")


def test_the_direction_with_more_packets_that_never_arrive() -> None:
    worse, better = (Flow(stuck_times=times, stuck_length=1400, delivered_length=1300) for times in (9, 4))
    for sender, connection in (("client", tcp(worse, better)), ("server", tcp(better, worse))):
        finding = only("JSD509", seen(talk(), connection))
        assert (finding.measured, finding.message.startswith(f"from the {sender} to")) == (9, True)


def test_the_side_that_did_not_read_for_longer() -> None:
    worse, better = (Flow(zero_windows=3, zero_window_ns=span, longest_zero_window_ns=span) for span in (5 * S, 2 * S))
    for sender, connection in (("client", tcp(worse, better)), ("server", tcp(better, worse))):
        finding = only("JSD503", seen(talk(), connection))
        assert (finding.measured, finding.message.startswith(f"the {sender} did not read for 5s")) == (5 * S, True)


def slow(connection: TcpConnection | None = None, waiting: tuple[int, ...] = (), **fields: Any) -> Finding:
    acked = latencies(*[MS] * 90, *[300 * MS] * 10)
    publishing = Publishing(acks=100, ack_ns=acked, waiting_ns=latencies(*waiting), unanswered=len(waiting))
    return only("JSD505", seen(talk(publishing=publishing), connection, **fields))


def test_publishes_that_were_never_acknowledged() -> None:
    finding = slow(waiting=(6 * S, 7 * S))
    assert (finding.measured, finding.severity) == (7 * S, Severity.ERROR)
    assert finding.message.startswith(
        "10 of 100 publishes were acknowledged after 200ms or more: at most 300ms; 2 were never acknowledged; clients"
        " that wait 5s give up and publish again"
    )
    assert "; 1 was never acknowledged; " in slow(waiting=(6 * S,)).message


def test_late_and_missing_acknowledgements_count_together() -> None:
    def severity(late: int, never: int, acked: int) -> Severity | None:
        waited = latencies(*[MS] * (acked - late), *[300 * MS] * late)
        waiting = latencies(*[250 * MS] * never)
        publishing = Publishing(acks=acked, ack_ns=waited, waiting_ns=waiting, unanswered=never)
        return only("JSD505", seen(talk(publishing=publishing)), timeout="210ms").severity

    assert severity(5, 0, 100) is Severity.ERROR
    assert severity(0, 1, 100) is Severity.ERROR
    assert severity(1, 1, 100) is Severity.ERROR


def test_what_the_network_has_to_do_with_slow_acknowledgements() -> None:
    late = Flow(distinct_packets=1000, reordering=Reordering(segments=2), zero_window_ns=3 * S)
    again = Retransmission(packets=4, segments=4, timeout=1)
    assert slow(tcp(late)).message.endswith("; on this connection: 2 segments reordered, a reader that stalled for 3s")
    assert slow(tcp(Flow(distinct_packets=1000, retransmission=again))).message.endswith(
        "; on this connection: 4 segments lost, 1 wait of 200ms or more for what was sent again"
    )
    innocent = "the network is not the cause: nothing was lost, late or held back on this connection"
    assert slow().message.endswith(f"; {innocent}")
    doubted = Flow(distinct_packets=1000, distinct_bytes=95_000, missed_bytes=5_000)
    for connection in (tcp(captured_twice=True), tcp(doubted), tcp(BUSY, doubted)):
        assert slow(connection).message == "10 of 100 publishes were acknowledged after 200ms or more: at most 300ms"


def pair(round_trip_ns: int | None) -> PairedConnection:
    return PairedConnection(
        client=CLIENT,
        server=SERVER,
        far_client=CLIENT,
        far_server=SERVER,
        near=0,
        far=1,
        to_server=PathDelay(),
        to_client=PathDelay(),
        least_round_trip_ns=round_trip_ns,
    )


def test_how_much_of_the_latency_is_the_network() -> None:
    way = tcp(Flow(distinct_packets=1000, ack_rtt_ns=Quantiles(9, 400_000, 1, 1, 1)))
    assert "; half of them came within 1.02ms, of which the way" in slow(way).message
    assert "takes at most 400µs;" in slow(way).message
    assert (
        "; half of them came within 1.02ms; the network between the two captures takes 300µs;"
        in slow(way, pairs=(pair(300_000),)).message
    )
    assert "takes at most 400µs;" in slow(way, pairs=(pair(None),)).message


def test_the_far_capture_of_a_pair_has_it_too() -> None:
    far = (tcp(capture=1),)
    traffic = (NatsTraffic(capture=1, connections=(talk(),)),)
    packets = PacketEvidence(captures=(capture("a"), capture("b")), connections=far, nats=traffic, pairs=(pair(1),))
    assert [view.pair for view in views(packets)] == [pair(1)]


def test_subjects_without_responders() -> None:
    publishing = Publishing(requests=100, no_responders=2, no_responder_subjects=("a.b", "c"))
    finding = only("JSD512", seen(talk(publishing=publishing)))
    assert finding.message == (
        "2 of 100 messages that request a reply (2 %) got the status 503 'no responders': neither a stream nor a"
        " service takes a.b, c"
    )


def retried(count: int, answered: int = 0, elsewhere: int = 0, *, kept: bool = True) -> Finding:
    examples = (Retry("orders.new", START + S, START + 3 * S),) if kept else ()
    publishing = Publishing(
        identified=100,
        retries=count,
        retries_answered=answered,
        retries_elsewhere=elsewhere,
        retry_ns=latencies(*[2 * S] * count),
        retry_examples=examples,
    )
    return only("JSD504", seen(talk(publishing=publishing)))


def test_messages_that_were_published_again() -> None:
    head = "of 100 messages with a Nats-Msg-Id"
    innocent = "the network is not the cause: nothing was lost, late or held back on this connection"
    assert retried(1).message == f"1 {head} (1 %) was published again, usually after 2s; {innocent}"
    assert retried(4, 1, 2).message == (
        f"4 {head} (4 %) were published again, usually after 2s; of 1 the first copy had been acknowledged here before;"
        f" 2 came over another connection, after a reconnect; {innocent}"
    )
    assert retried(2, 2).message == (
        f"2 {head} (2 %) were published again, usually after 2s; the first copy had been acknowledged here before: the"
        f" acknowledgement was lost later, or the id is reused; {innocent}"
    )
    assert [item.value for item in retried(2).evidence][-1] == "orders.new, 2s after the first copy"
    assert [item.value for item in retried(2, kept=False).evidence][-1] == "not kept"


def refusal(code: int, count: int = 1, text: str = "no") -> RefusedPublishes:
    return RefusedPublishes(err_code=code, description=text, stream="S", count=count, first_ns=START, last_ns=START)


@pytest.mark.parametrize("code", [10070, 10071, 10164])
def test_expectations_that_were_not_met_are_left_to_other_rules(code: int) -> None:
    publishing = Publishing(acks=100, refusals=(refusal(code),))
    assert only("JSD511", seen(talk(publishing=publishing))).outcome is Outcome.PASS


def test_the_most_frequent_refusals_are_named() -> None:
    refusals = (*(refusal(10000 + number, 1) for number in (9, 8, 7, 6, 5, 4, 3, 2)), refusal(10077, 3, "full"))
    finding = only("JSD511", seen(talk(publishing=Publishing(acks=100, refusals=refusals))))
    assert finding.message.startswith(
        "JetStream refused 11 of 100 publishes (11 %): 3 with 'full' (10077), 1 with 'no' (10002), 1 with 'no' (10003),"
        " 1 with 'no' (10004); these"
    )
    assert [item.value for item in finding.evidence if item.path.endswith("error 10002")] == [1]
    assert len(finding.evidence) == 8 * 3


def failure(code: int, count: int, **fields: Any) -> ApiFailure:
    known: dict[str, Any] = {"operation": "GET", "subject": "$JS.API.X", "code": 404, "first_ns": START}
    times = {"last_ns": START + S}
    return ApiFailure(**(known | times | {"err_code": code, "description": "no", "count": count} | fields))


def api(*failures: ApiFailure, **params: Any) -> Finding:
    return only("JSD517", seen(talk(api=ApiTraffic(requests=100, failures=failures))), **params)


@pytest.mark.parametrize("code", [10014, 10037, 10059])
def test_what_is_not_found_counts_from_ten_on(code: int) -> None:
    assert [api(failure(code, count)).severity for count in (9, 10)] == [Severity.INFO, None]


def test_failures_of_the_api() -> None:
    missing = (failure(10059, 10), failure(10014, 2))
    assert api(*missing).severity is api(*reversed(missing)).severity is None
    assert api(failure(10003, 1), not_found=1).severity is Severity.INFO
    times = ((START + 2 * S, START + 5 * S), (START + S, START + 3 * S))
    finding = api(*(failure(10003, 1, first_ns=first, last_ns=last) for first, last in times))
    assert (finding.first_seen, finding.last_seen) == (moment(START + S), moment(START + 5 * S))
    many = api(*(failure(code, 1) for code in (1, 2, 3, 4, 5)))
    part = "GET 1 times with 'no' ({}), first $JS.API.X"
    assert many.message == (
        "5 of 100 requests to the JetStream API failed: " + "; ".join(part.format(code) for code in (1, 2, 3, 4))
    )


def delivered(*traffic: ConsumerTraffic) -> PacketEvidence:
    return PacketEvidence(
        captures=tuple(capture(name) for name, _ in zip("ab", traffic, strict=False)),
        nats=tuple(NatsTraffic(capture=number, consumers=(item,)) for number, item in enumerate(traffic)),
    )


@pytest.mark.parametrize(
    ("most", "words"),
    [(0, ""), (1, ""), (2, "; one message was delivered 2 times"), (3, "; one message was delivered 3 times")],
)
def test_deliveries_that_were_refused(most: int, words: str) -> None:
    traffic = ConsumerTraffic(stream="S", consumer="c", deliveries=100, naks=10, most_deliveries=most)
    assert only("JSD513", delivered(traffic)).message.endswith(f"unless the NAK names a delay{words}")


def test_the_usual_wait_until_a_redelivery() -> None:
    waits = latencies(S, 2 * S, 30 * S)
    traffic = ConsumerTraffic(stream="S", consumer="c", deliveries=100, redeliveries=3, redelivery_ns=waits)
    message = only("JSD515", delivered(traffic)).message
    assert message.endswith("; 3 came because no response was seen, usually after 2.01s")


def test_a_consumer_is_judged_from_the_capture_that_shows_most_of_it() -> None:
    def source(*counts: int) -> str:
        items = (ConsumerTraffic(stream="S", consumer="c", deliveries=count, naks=5) for count in counts)
        return only("JSD513", delivered(*items)).evidence[0].source

    assert [source(100, 100), source(100, 101), source(101, 100)] == ["a", "b", "a"]


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


def test_messages_that_reached_max_deliver_in_the_capture_that_shows_most() -> None:
    def finding(*counts: int) -> Finding:
        talks = [talk(advisories=(("CONSUMER.MAX_DELIVERIES.ORDERS.billing", count),)) for count in counts]
        nats = tuple(NatsTraffic(capture=number, connections=(item,)) for number, item in enumerate(talks))
        seen_by = tuple(capture(name) for name, _ in zip("ab", counts, strict=True))
        connections = tuple(tcp(capture=number) for number in range(len(counts)))
        return only("JSD520", PacketEvidence(captures=seen_by, connections=connections, nats=nats))

    for counts, source in (((3, 5), "b"), ((5, 3), "a")):
        found_in = finding(*counts)
        assert (found_in.subject.label, found_in.measured) == ("ORDERS > billing", 5)
        assert found_in.evidence[0].source == source


def test_what_the_capturing_host_lost_is_a_share_of_all_packets() -> None:
    packets = PacketEvidence(captures=(capture(packets=90, kernel_drops=10),), connections=(tcp(),))
    finding = only("JSD502", packets)
    assert finding.outcome is Outcome.NOT_EVALUATED
    assert finding.message == "the capture itself lost 10% of it"
