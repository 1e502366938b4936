"""What is derived from the protocol: answers, retries, refusals, deliveries, acks, pings and clocks."""

import pytest

from jsdoctor.model.nats_traffic import NatsTraffic
from jsdoctor.model.packets import SocketAddress
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.packets.segment import CapturedConnection
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


@pytest.mark.parametrize(("requested_ns", "interval_ns"), [(2_000_000_000, 2_000_000_000), (0, 15 * MILLISECOND)])
def test_heartbeats_of_two_open_pulls_come_in_pairs(requested_ns: int, interval_ns: int) -> None:
    """A client that asks for more in time has two pulls open, and each has heartbeats of its own."""
    ear, beat = Ear(), b"NATS/1.0 100 Idle Heartbeat\r\n\r\n"
    ear.server(INFO)
    ear.client(CONNECT, b"SUB _INBOX.p 7\r\n")
    for _ in range(2):
        request = b'{"batch":10,"expires":30000000000,"idle_heartbeat":%d}' % requested_ns
        ear.client(pub("$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker", "_INBOX.p", request))
    for second in range(2, 10, 2):
        for at_ms in (0, 15):
            ear.at_ns = second * 1_000_000_000 + at_ms * MILLISECOND
            ear.server(b"HMSG _INBOX.p 7 %d %d\r\n%s\r\n" % (len(beat), len(beat), beat))
    assert ear.only().heartbeats.interval_ns == interval_ns
