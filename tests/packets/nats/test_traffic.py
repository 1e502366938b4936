"""What is derived from the protocol: answers, retries, refusals, deliveries, acks, pings and clocks."""

from __future__ import annotations

import pytest

from jsdoctor.model.nats_traffic import NatsTraffic
from jsdoctor.model.packets import SocketAddress
from jsdoctor.parse.packets.nats.observer import NatsObserver
from jsdoctor.parse.packets.segment import CapturedConnection
from tests.packets.nats.speech import CONNECT, INFO, MILLISECOND, Ear, ack, hpub, msg, pub
from tests.support.packet_cases import captured


def talking() -> Ear:
    ear = Ear()
    ear.server(INFO)
    ear.client(CONNECT, b"SUB _INBOX.> 1\r\n")
    return ear


def traffic(name: str) -> NatsTraffic:
    (observed,) = captured((name,)).nats
    return observed


@pytest.mark.parametrize(
    ("name", "publishes", "retries", "duplicates"),
    [
        ("nats-clean.client", 60, 0, 0),
        ("nats-clean.server", 60, 0, 0),
        ("nats-retry.client", 94, 14, 14),
        ("nats-retry.server", 94, 14, 14),
        ("nats-blackout.client", 302, 2, 2),
        ("nats-netdup.server", 60, 0, 0),
        ("nats-any-dup-sll2", 30, 0, 0),
    ],
)
def test_publishes_are_counted_as_the_client_counted_them(
    name: str, publishes: int, retries: int, duplicates: int
) -> None:
    publisher = next(talk.publishing for talk in traffic(name).connections if talk.publishing.messages)
    assert (publisher.messages, publisher.acks, publisher.unanswered) == (publishes, publishes, 0)
    assert (publisher.retries, publisher.duplicates, publisher.unproven) == (retries, duplicates, 0)


@pytest.mark.parametrize("name", ["nats-clean.client", "nats-reorder.server", "nats-loss.server", "nats-retry.client"])
def test_the_network_leaves_no_gap_in_deliveries(name: str) -> None:
    by_name = {consumer.consumer: consumer for consumer in traffic(name).consumers}
    assert (by_name["PUSH"].missing, by_name["PUSH"].restarts, by_name["PUSH"].exclusive) == (0, 0, True)
    assert (by_name["PULL"].deliveries, by_name["PULL"].redeliveries, by_name["PULL"].acks) == (15, 2, 13)
    assert not by_name["PULL"].exclusive, "others may fetch from it, too"


def test_errors_are_those_that_were_made() -> None:
    refusals = {
        refusal.err_code: refusal
        for talk in traffic("nats-errors.client").connections
        for refusal in talk.publishing.refusals
    }
    assert {code: refusal.count for code, refusal in refusals.items()} == {10071: 2, 10060: 1, 10070: 1}
    assert (refusals[10071].ahead, refusals[10071].behind) == (1, 1)
    assert sum(talk.publishing.no_responders for talk in traffic("nats-errors.client").connections) == 1
    texts = [error.text for talk in traffic("nats-errors.client").connections for error in talk.errors]
    assert texts == ["Maximum Payload Violation"]


@pytest.mark.parametrize(
    ("name", "truth_ns"),
    [
        *(
            (name, 0)
            for name in ("nats-clean.client", "nats-clean.server", "nats-retry.client", "nats-blackout.client")
        ),
        *((name, 0) for name in ("nats-reorder.server", "nats-loss.server", "nats-netdup.server", "nats-any-dup-sll2")),
        ("nats-skew+3.5s.client", -3_500_000_000),
    ],
)
def test_the_clock_lies_in_its_interval(name: str, truth_ns: int) -> None:
    (clock,) = traffic(name).clocks
    assert clock.high_ns is not None
    assert clock.low_ns <= truth_ns <= clock.high_ns
    assert clock.high_ns - clock.low_ns < 20 * MILLISECOND
    assert clock.steady


def test_acks_of_eleven_tokens_are_read() -> None:
    by_name = {consumer.consumer: consumer for consumer in traffic("nats-ackv2-domain.client").consumers}
    assert {consumer.domain for consumer in by_name.values()} == {"hub"}
    assert all(consumer.account_hash for consumer in by_name.values())
    assert by_name["PUSH"].deliveries == 20


def test_late_acks_are_distinguished_from_others() -> None:
    by_name = {consumer.consumer: consumer for consumer in traffic("own-late-acks").consumers}
    assert (by_name["SLOW"].acked_late, by_name["SLOW"].redeliveries) == (15, 15)
    assert by_name["SLOW"].late_ns.least_ns >= 700 * MILLISECOND
    assert by_name["SLOW"].redelivery_ns.least_ns >= 500 * MILLISECOND
    assert (by_name["QUICK"].acked_late, by_name["QUICK"].acks, by_name["QUICK"].redeliveries) == (0, 15, 0)
    patient = by_name["PATIENT"]
    assert (patient.in_progress, patient.naks, patient.terminated, patient.acks) == (1, 1, 1, 2)
    assert patient.redelivery_ns.count == 0, "what was refused is not sent again for want of an answer"


def test_deliveries_of_routes_are_read() -> None:
    observed = traffic("own-routes")
    assert {talk.link.value for talk in observed.connections} >= {"route"}
    routed = [consumer for consumer in observed.consumers if consumer.routed]
    assert routed
    assert all(consumer.deliveries == 10 and consumer.acks == 10 for consumer in routed)
    assert all(consumer.missing == consumer.restarts == consumer.redeliveries == 0 for consumer in routed)


def test_a_retry_is_known_by_its_id_on_any_connection() -> None:
    ear = talking()
    ear.client(hpub("orders.new", "_INBOX.1", {"Nats-Msg-Id": "a"}))
    ear.client(hpub("orders.new", "_INBOX.2", {"Nats-Msg-Id": "b"}))
    ear.client(hpub("orders.old", "_INBOX.3", {"Nats-Msg-Id": "a"}))
    ear.client(hpub("orders.new", "_INBOX.4", {"Nats-Msg-Id": "a"}))
    ear.server(msg("_INBOX.1", payload=ack()), msg("_INBOX.4", payload=ack(duplicate=True)))
    publishing = ear.only().publishing
    assert (publishing.identified, publishing.retries, publishing.duplicates) == (4, 1, 1)
    assert publishing.retry_ns.largest_ns == 3 * MILLISECOND


@pytest.mark.parametrize(("hung_up", "pause_ms", "retries"), [(False, 5, 0), (True, 5, 1), (False, 1000, 1)])
def test_what_a_proxy_passes_on_is_no_retry(hung_up: bool, pause_ms: int, retries: int) -> None:
    """The same id on two connections: a retry after a reconnect, or a message on its way through a proxy."""
    observer = NatsObserver()
    first, second = (
        CapturedConnection(
            0, number, SocketAddress("192.0.2.1", number), SocketAddress("192.0.2.2", 4222), midstream=False
        )
        for number in (1, 2)
    )
    text = CONNECT + hpub("orders.new", "_INBOX.1", {"Nats-Msg-Id": "a"})
    for connection, at_ns in ((first, 0), (second, pause_ms * MILLISECOND)):
        observer.opened(connection)
        observer.data(connection.to_server, 0, at_ns, memoryview(text), len(text))
        if hung_up:
            observer.closed(connection, at_ns)
    for connection in (first, second):
        observer.closed(connection, pause_ms * MILLISECOND)
    (observed,) = observer.traffic()
    assert sum(talk.publishing.retries for talk in observed.connections) == retries


def test_a_header_counts_as_it_is_written() -> None:
    ear = talking()
    for reply in ("_INBOX.1", "_INBOX.2"):
        ear.client(hpub("orders.new", reply, {"nats-msg-id": "a"}))
    assert ear.only().publishing.identified == 0


def test_replies_to_other_requests_are_no_acknowledgements() -> None:
    ear = talking()
    ear.client(pub("service.echo", "_INBOX.1"), pub("$JS.API.STREAM.INFO.ORDERS", "_INBOX.2"))
    ear.server(msg("_INBOX.1", payload=b'{"answer":42}'), msg("_INBOX.2", payload=b'{"type":"x","stream":"ORDERS"}'))
    publishing = ear.only().publishing
    assert (publishing.requests, publishing.acks, publishing.unanswered) == (1, 0, 0)


def test_a_publish_without_a_response_waits() -> None:
    ear = talking()
    ear.client(pub("orders.new", "_INBOX.1"), pub("orders.new", "_INBOX.2"))
    ear.server(msg("_INBOX.1", payload=ack()))
    ear.client(b"PING\r\n")
    publishing = ear.only().publishing
    assert (publishing.acks, publishing.unanswered, publishing.waiting_ns.largest_ns) == (1, 1, 2 * MILLISECOND)


def test_a_service_that_does_not_respond_is_no_publish() -> None:
    ear = talking()
    ear.client(pub("orders.1", "_INBOX.1"), pub("service.report", "_INBOX.2"), pub("orders.2", "_INBOX.3"))
    ear.server(msg("_INBOX.1", payload=ack()))
    assert ear.only().publishing.unanswered == 1


def test_a_retry_of_what_was_stored_is_distinguished_from_a_repetition() -> None:
    refused = (
        b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 8"},"stream":"ORDERS","seq":0}'
    )
    ear = talking()
    wanted = {"Nats-Expected-Last-Sequence": "7", "Nats-Msg-Id": "a"}
    ear.client(hpub("orders.new", "_INBOX.1", wanted), hpub("orders.new", "_INBOX.2", wanted))
    ear.server(msg("_INBOX.1", payload=ack(seq=8)), msg("_INBOX.2", payload=refused))
    for number in (3, 4, 5):
        ear.client(hpub("orders.new", f"_INBOX.{number}", {"Nats-Expected-Last-Sequence": "5"}))
        ear.server(msg(f"_INBOX.{number}", payload=refused))
    (refusal,) = ear.only().publishing.refusals
    assert (refusal.count, refusal.after_stored, refusal.repeats) == (4, 1, 3)


def test_two_writers_with_one_expectation_are_no_retry() -> None:
    refused = (
        b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 8"},"stream":"ORDERS","seq":0}'
    )
    ear = talking()
    ear.client(hpub("orders.new", "_INBOX.1", {"Nats-Expected-Last-Sequence": "7"}, b"one"))
    ear.client(hpub("orders.new", "_INBOX.2", {"Nats-Expected-Last-Sequence": "7"}, b"other"))
    ear.server(msg("_INBOX.1", payload=ack(seq=8)), msg("_INBOX.2", payload=refused))
    (refusal,) = ear.only().publishing.refusals
    assert (refusal.count, refusal.after_stored) == (1, 0)


def deliver(ear: Ear, consumer_seq: int, *, attempt: int = 1, stream_seq: int | None = None, sid: int = 1) -> str:
    reply = f"$JS.ACK.ORDERS.C.{attempt}.{stream_seq or consumer_seq}.{consumer_seq}.1000000.0"
    ear.server(msg("orders.new", reply, sid=sid))
    return reply


def test_gaps_and_restarts_of_a_consumer() -> None:
    ear = talking()
    for consumer_seq in (1, 2, 5, 6, 6, 1, 2):
        deliver(ear, consumer_seq)
    (consumer,) = ear.hang_up().consumers
    assert (consumer.exclusive, consumer.missing, consumer.restarts) == (True, 2, 1)


def test_a_queue_group_shares() -> None:
    ear = Ear()
    ear.server(INFO)
    ear.client(CONNECT, b"SUB orders.> workers 1\r\n")
    deliver(ear, 1)
    deliver(ear, 4)
    (consumer,) = ear.hang_up().consumers
    assert not consumer.exclusive


def test_heartbeats_that_are_ahead() -> None:
    ear = talking()
    deliver(ear, 1)
    for last in (1, 4):
        head = f"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: {last}\r\nNats-Last-Stream: 9\r\n\r\n".encode()
        ear.server(f"HMSG deliver.x 1 {len(head)} {len(head)}\r\n".encode() + head + b"\r\n")
    (consumer,) = ear.hang_up().consumers
    assert (consumer.heartbeats, consumer.heartbeats_ahead) == (2, 1)


def test_pings_are_matched_in_order() -> None:
    ear = talking()
    ear.client(b"PING\r\n")
    ear.server(b"PING\r\n")
    ear.server(b"PONG\r\n")
    ear.server(b"PING\r\n")
    observed = ear.only()
    assert (observed.ping_ns.count, observed.ping_ns.largest_ns, observed.pings_unanswered) == (1, 2 * MILLISECOND, 2)
    assert observed.longest_ping_wait_ns == 2 * MILLISECOND
